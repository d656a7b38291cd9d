import Foundation
import Synchronization

/// Tells on standard error what a command waits for, if that takes longer than two seconds.
///
/// Any thread may end it; nothing is said any more once ``end()`` has returned.
package final class WaitNotice: Sendable {
    /// Calls its argument when patience is over.
    typealias Timer = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// A user who sees nothing for three seconds gives up: this leaves one of them.
    static let patience = DispatchTimeInterval.seconds(2)

    private let subject: String
    private let output: @Sendable (_ text: String) -> Void
    private let isOver = Mutex(false)

    /// The wait begins.
    ///
    /// - Parameter subject: for instance "the brokers at kafka:9092".
    package convenience init(_ subject: String) {
        self.init(subject, timer: Self.afterPatience, output: Diagnostics.tell)
    }

    init(_ subject: String, timer: Timer, output: @escaping @Sendable (String) -> Void) {
        self.subject = subject
        self.output = output
        timer { self.tell() }
    }

    /// The wait is over. Idempotent.
    package func end() {
        isOver.withLock { $0 = true }
    }

    private func tell() {
        // Written under the lock: a notice never comes behind the end of its wait.
        isOver.withLock { isOver in
            if !isOver { output("waiting for \(subject)") }
        }
    }

    /// Runs `body`, which may block.
    package static func during<Result, Failure: Error>(
        _ subject: String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let notice = WaitNotice(subject)
        defer { notice.end() }
        return try body()
    }

    /// Not a global queue: those have a thread for each processor, and the waiting one may be the only one.
    private static let queue = DispatchQueue(label: "belfry.wait-notice")

    private static let afterPatience: Timer = { tell in
        queue.asyncAfter(deadline: .now() + patience, execute: DispatchWorkItem(block: tell))
    }
}
