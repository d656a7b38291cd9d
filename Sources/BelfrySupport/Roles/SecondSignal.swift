import Dispatch
import Glibc

/// Ends the process at the second SIGTERM or SIGINT: an operator who signals twice does not want to wait for a drain.
/// The next owner sends again what was in flight, as after a crash.
final class SecondSignal {
    private let sources: [any DispatchSourceSignal]

    /// Begins to count; another part acts on the first signal.
    init() {
        let queue = DispatchQueue(label: "belfry.second-signal")
        let count = Count()
        sources = [SIGTERM, SIGINT].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                count.value += Int(source.data)
                if count.value > 1 { StopLimit.exit("a second signal: ends at once, without draining") }
            }
            source.activate()
            return source
        }
    }

    /// Belongs to the queue.
    private final class Count: @unchecked Sendable {
        var value = 0
    }
}
