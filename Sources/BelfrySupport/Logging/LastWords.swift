import Foundation
import Synchronization

/// Words at the end of a process, for which it does not wait for ever.
enum LastWords {
    /// Runs `write` on a thread of its own, which is left alone if it does not end in time.
    ///
    /// - Parameter write: false: it failed.
    /// - Returns: false: it failed, or did not end in time.
    static func say(within limit: Duration, _ write: @escaping @Sendable () -> Bool) -> Bool {
        let isSaid = Said()
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            isSaid.value.store(write(), ordering: .releasing)
            ended.signal()
        }
        guard ended.wait(timeout: .now() + limit / .seconds(1)) == .success else { return false }
        return isSaid.value.load(ordering: .acquiring)
    }

    private final class Said: Sendable {
        let value = Atomic(false)
    }
}
