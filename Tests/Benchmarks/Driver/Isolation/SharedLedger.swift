import NIOCore
import Synchronization

/// A topic's ledger, written by the thread that publishes and the gateway's.
final class SharedLedger: Sendable {
    private let state: Mutex<DeliveryLedger>

    init(_ ledger: DeliveryLedger) {
        state = Mutex(ledger)
    }

    func with<R: Sendable>(_ body: (inout DeliveryLedger) -> R) -> R {
        state.withLock { body(&$0) }
    }

    /// The clock of all times here, in nanoseconds.
    static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}
