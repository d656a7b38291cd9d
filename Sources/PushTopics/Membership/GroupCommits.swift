import KafkaClient
import Logging

/// The commits of a group's member: one on its way at a time, and the last one of partitions before they go.
///
/// Bound to the event loop of its owner.
package final class GroupCommits {
    /// Called after a commit was stored, when all who waited for it have been called.
    package var onStored: () -> Void = {}

    private let consumer: any GroupConsumer
    private let logger: Logger
    /// Number of the last commit sent.
    private var sent: UInt64 = 0
    /// Number of the commit that is waited for; nil: none.
    private var underWay: UInt64?
    /// Calls that wait for the answer to a commit, by its number.
    private var afterAnswer: [UInt64: [() -> Void]] = [:]

    package init(consumer: any GroupConsumer, logger: Logger) {
        self.consumer = consumer
        self.logger = logger
    }

    package var isUnderWay: Bool { underWay != nil }

    /// A commit on its way is not waited for any longer: it is one of a former assignment, and its answer can take a
    /// minute.
    package func beginAssignment() { underWay = nil }

    /// Sends a commit.
    ///
    /// - Parameter answered: called with the answer; `isLate`: others may have been sent since.
    /// - Returns: false: nothing was sent, for there are no offsets, or the client takes none.
    package func commit(
        _ offsets: [KafkaPartitionOffset],
        answered: @escaping (KafkaError?, _ isLate: Bool) -> Void
    ) -> Bool {
        guard !offsets.isEmpty else { return false }
        sent += 1
        let number = sent
        do throws(KafkaError) {
            try consumer.commit(offsets) { [weak self] in self?.arrived($0, number, answered) }
            underWay = number
            return true
        } catch {
            tell(error)
            return false
        }
    }

    private func arrived(_ error: KafkaError?, _ number: UInt64, _ answered: (KafkaError?, _ isLate: Bool) -> Void) {
        let isLate = underWay != number
        if !isLate { underWay = nil }
        if let error { tell(error) }
        answered(error, isLate)
        for body in afterAnswer.removeValue(forKey: number) ?? [] { body() }
        if error == nil { onStored() }
    }

    /// Sends the last commit of partitions that are given back. Calls `body` after the answer, at once if nothing was
    /// sent.
    ///
    /// A commit on its way is waited for first, so that the newest positions are the last to arrive.
    ///
    /// - Parameter send: sends the commit, if there is something to commit.
    package func commitLast(_ send: @escaping () -> Bool, then body: @escaping () -> Void) {
        guard let underWay else {
            guard send(), let number = self.underWay else { return body() }
            return afterAnswer[number, default: []].append(body)
        }
        afterAnswer[underWay, default: []].append { [unowned self] in commitLast(send, then: body) }
    }

    /// Positions that were not committed are committed by the next attempt; or their next owner does again what came
    /// after the last commit: a repetition, no loss.
    private func tell(_ error: KafkaError) {
        logger.warning("commit failed", metadata: ["error": "\(error)"])
    }
}
