import Foundation
import Synchronization

/// Output at the end of a process, for which it does not wait for ever.
enum FinalFlush {
    /// Runs `write` on a thread of its own, which is left alone if it does not end in time.
    ///
    /// - Parameter write: false: it failed.
    /// - Returns: false: it failed, or did not end in time.
    static func run(timeout: Duration, _ write: @escaping @Sendable () -> Bool) -> Bool {
        let result = Success()
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            result.value.store(write(), ordering: .releasing)
            ended.signal()
        }
        guard ended.wait(timeout: .now() + timeout / .seconds(1)) == .success else { return false }
        return result.value.load(ordering: .acquiring)
    }

    private final class Success: Sendable {
        let value = Atomic(false)
    }
}
