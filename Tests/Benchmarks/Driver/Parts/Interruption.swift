import Dispatch
import Foundation
import Glibc
import Synchronization

/// SIGINT or SIGTERM, noted so that whoever runs can end what it started; and where waiting is done.
final class Interruption {
    /// Set on whatever thread the signal comes to.
    final class Flag: Sendable {
        fileprivate let isUp = Atomic(false)
        fileprivate let bell = DispatchSemaphore(value: 0)

        /// Waits, less long if a signal comes or has come.
        func pass(milliseconds: Int) {
            if bell.wait(timeout: .now() + .milliseconds(milliseconds)) == .success { bell.signal() }
        }
    }

    let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    init() {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        for source in sources {
            source.setEventHandler { [flag] in
                flag.isUp.store(true, ordering: .relaxed)
                flag.bell.signal()
            }
            source.activate()
        }
    }

    deinit { for source in sources { source.cancel() } }

    var hasCome: Bool { flag.isUp.load(ordering: .relaxed) }

    func pass(milliseconds: Int) {
        flag.pass(milliseconds: milliseconds)
    }
}
