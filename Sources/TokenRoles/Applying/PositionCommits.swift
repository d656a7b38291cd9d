import KafkaClient
import Logging
import PushTopics

/// Commits the positions of a ``RecordApplier``: one commit at a time, each with the newest positions.
///
/// Bound to the applier's event loop.
final class PositionCommits {
    /// The present position of a partition; nil: there is none to commit.
    var position: (Int32) -> KafkaPartitionOffset? = { _ in nil }

    private let consumer: any GroupConsumer
    private let logger: Logger
    /// Partitions whose position the broker does not have.
    private var changed: Set<Int32> = []
    /// Partitions of the commit on its way; nil: there is none.
    private var underWay: Set<Int32>?
    private var afterNext: [() -> Void] = []

    init(consumer: any GroupConsumer, logger: Logger) {
        self.consumer = consumer
        self.logger = logger
    }

    /// The positions of partitions have changed.
    func notePartitions(_ partitions: some Sequence<Int32>) { changed.formUnion(partitions) }

    /// Commits what has changed. While a commit is on its way nothing is sent: its answer brings the next one.
    func commit() {
        if underWay == nil { send(changed) }
    }

    /// Commits partitions that are given back. Calls `body` after the answer, at once if there is nothing to commit.
    ///
    /// A commit on its way is waited for first, so that the newest positions are the last to arrive.
    func commitLast(_ partitions: [Int32], then body: @escaping () -> Void) {
        guard underWay == nil else {
            return afterNext.append { [unowned self] in commitLast(partitions, then: body) }
        }
        guard send(changed.intersection(partitions)) else { return body() }
        afterNext.append(body)
    }

    /// Commits nothing of partitions any more.
    func forget(_ partitions: [Int32]) {
        changed.subtract(partitions)
        underWay?.subtract(partitions)
    }

    /// - Returns: true if a commit was sent.
    @discardableResult
    private func send(_ partitions: Set<Int32>) -> Bool {
        let offsets = partitions.sorted().compactMap(position)
        guard !offsets.isEmpty else { return false }
        changed.subtract(partitions)
        underWay = partitions
        do throws(KafkaError) {
            try consumer.commit(offsets) { [weak self] in self?.answered($0) }
            return true
        } catch {
            failed(error)
            return false
        }
    }

    private func answered(_ error: KafkaError?) {
        if let error { failed(error) } else { underWay = nil }
        let bodies = afterNext
        afterNext = []
        for body in bodies { body() }
        // A refused commit is tried again later: a group in a rebalance refuses every one.
        if error == nil { commit() }
    }

    private func failed(_ error: KafkaError) {
        changed.formUnion(underWay ?? [])
        underWay = nil
        // If the partitions go before it is stored, the next owner applies them again: changes are idempotent.
        logger.warning("commit failed", metadata: ["error": "\(error)"])
    }
}
