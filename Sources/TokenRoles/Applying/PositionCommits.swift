import KafkaClient
import Logging
import PushTopics

/// Commits the positions of a ``RecordApplier``: one commit at a time, each with the newest positions.
///
/// Bound to the applier's event loop.
final class PositionCommits {
    /// The present position of a partition; nil: there is none to commit.
    var position: (Int32) -> KafkaPartitionOffset? = { _ in nil }

    private let commits: GroupCommits
    /// Partitions whose position the broker does not have.
    private var changed: Set<Int32> = []
    /// Partitions of the last commit that was sent.
    private var sent: Set<Int32> = []

    init(consumer: any GroupConsumer, logger: Logger) {
        commits = GroupCommits(consumer: consumer, logger: logger)
        // One that was refused is tried again later: a group in a rebalance refuses every one.
        commits.onStored = { [unowned self] in commit() }
    }

    /// The positions of partitions have changed.
    func notePartitions(_ partitions: some Sequence<Int32>) { changed.formUnion(partitions) }

    /// Commits what has changed. While a commit is on its way nothing is sent: its answer brings the next one.
    func commit() {
        if !commits.isUnderWay { send(changed) }
    }

    /// Commits partitions that are given back. Calls `body` after the answer, at once if there is nothing to commit.
    func commitLast(_ partitions: [Int32], then body: @escaping () -> Void) {
        commits.commitLast({ [unowned self] in send(changed.intersection(partitions)) }, then: body)
    }

    /// Commits nothing of partitions any more.
    func forget(_ partitions: [Int32]) {
        changed.subtract(partitions)
        sent.subtract(partitions)
    }

    /// - Returns: true if a commit was sent.
    @discardableResult
    private func send(_ partitions: Set<Int32>) -> Bool {
        let isSent = commits.commit(partitions.sorted().compactMap(position)) { [unowned self] error, _ in
            if error != nil { changed.formUnion(sent) }
        }
        guard isSent else { return false }
        changed.subtract(partitions)
        sent = partitions
        return true
    }
}
