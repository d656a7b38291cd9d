import Foundation
import LocalPipeline
import Synchronization
import Workbench

/// Looks at the roles' processes once a second while notifications are published, on a thread of its own.
final class SoakMeter: Sendable {
    private let samples = Mutex<[String: [SoakSample]]>([:])
    /// Of these, the ones while nothing was under way.
    private let drained = Mutex<[String: [SoakSample]]>([:])

    private static let intervalMilliseconds = 1000

    /// Looks until publishing ends.
    ///
    /// - Parameter processes: by name.
    func start(_ processes: [String: ChildProcess], _ board: Board) {
        let beginning = ContinuousClock.now
        Thread.detachNewThread { [self] in
            while case .some = try? board.pass(milliseconds: Self.intervalMilliseconds) {
                let state = board.read()
                guard case .publishing = state.phase else { return }
                let seconds = beginning.duration(to: .now) / .seconds(1)
                for (name, process) in processes {
                    guard let sample = SoakSample(of: process.processIdentifier, seconds: seconds) else { continue }
                    samples.withLock { $0[name, default: []].append(sample) }
                    if state.isDrained { drained.withLock { $0[name, default: []].append(sample) } }
                }
            }
        }
    }

    /// By process.
    var seen: [String: [SoakSample]] { samples.withLock { $0 } }

    /// By process, after campaigns that had drained.
    var seenDrained: [String: [SoakSample]] { drained.withLock { $0 } }
}
