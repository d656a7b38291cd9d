import Foundation

/// Tells on standard error what a command waits for, if that takes longer than two seconds.
enum WaitNotice {
    private static let patience = DispatchTimeInterval.seconds(2)

    /// Runs `body`, which may block.
    ///
    /// - Parameter subject: for instance "the brokers at kafka:9092".
    static func during<Result, Failure: Error>(
        _ subject: String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let notice = DispatchWorkItem {
            StandardStream.error.write(Array("belfry: waiting for \(subject)\n".utf8))
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: notice)
        defer { notice.cancel() }
        return try body()
    }
}
