import Dispatch
import Glibc

/// Ends the process at SIGTERM or SIGINT with exit code 1, and says before what that means for the work.
///
/// For work that may be cut off at any moment. Nothing is said any more once ``end()`` has returned.
package final class Interruption {
    private let queue = DispatchQueue(label: "belfry.interruption")
    private let sources: [any DispatchSourceSignal]

    package init(says text: String) {
        sources = [SIGTERM, SIGINT].map { [queue] number in
            // Else the signal would end the process before anything could be said.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                Diagnostics.tell(text)
                _exit(ExitStatus.failed.rawValue)
            }
            source.activate()
            return source
        }
    }

    /// Signals end the process in silence again. To be called once.
    package func end() {
        for (number, source) in zip([SIGTERM, SIGINT], sources) {
            source.cancel()
            signal(number, SIG_DFL)
        }
        // A handler that has begun comes to its end, which is the process's.
        queue.sync {}
    }
}
