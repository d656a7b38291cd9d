import Dispatch
import Glibc
import Synchronization

/// SIGTERM and SIGINT, noted instead of ending the process: for work that has something to tell at its end.
package final class StopRequest {
    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    private let flag = Flag()
    /// Not a global one: those have a thread for each processor, and the work may hold the only one.
    private let queue = DispatchQueue(label: "belfry.stop-request")
    private let sources: [any DispatchSourceSignal]

    package init() {
        sources = [SIGTERM, SIGINT].map { [flag, queue] number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { flag.value.store(true, ordering: .relaxed) }
            source.activate()
            return source
        }
    }

    /// A signal came.
    package var isMade: Bool { flag.value.load(ordering: .relaxed) }

    /// Signals end the process again. To be called once.
    package func end() {
        for (number, source) in zip([SIGTERM, SIGINT], sources) {
            source.cancel()
            signal(number, SIG_DFL)
        }
    }
}
