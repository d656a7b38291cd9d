import BelfrySupport
import PipelineCore

/// The progress of each topic over the partitions of a shard, for reports: one pass over all feeds, because a shard may
/// have thousands.
struct FeedSums {
    /// One topic.
    struct Sum {
        /// Offsets between its lowest cursors and the ends of the partitions in which it lags.
        var lagRecords: Int64 = 0
        /// The lowest in each partition in which it lags.
        var cursors: [RoleStatus.Cursor] = []
        /// Of the record at the oldest cursor, UNIX milliseconds.
        var cursorPublishedAt: Int64?
        var oldestTakenAt: MonotonicTime?
    }

    private var sums: [ObjectIdentifier: Sum] = [:]

    init(_ group: Group) {
        for partition in group.assigned.values {
            for feed in partition.feeds.values {
                guard let takenAt = feed.oldestTakenAt else { continue }
                sums[ObjectIdentifier(feed.account), default: Sum()].keepOldest(takenAt: takenAt)
            }
        }
        for partition in group.active { add(partition, end: group.watermarks(of: partition)?.high) }
    }

    subscript(account: AppAccount) -> Sum { sums[ObjectIdentifier(account)] ?? Sum() }

    private mutating func add(_ partition: PartitionAssignment, end: Int64?) {
        // A topic has two feeds in a partition if some of its records leave the environment out.
        var lowest: [ObjectIdentifier: Int64] = [:]
        for feed in partition.feeds.values {
            guard !feed.ledger.isLive, let cursor = feed.ledger.cursor else { continue }
            let account = ObjectIdentifier(feed.account)
            lowest[account] = min(cursor, lowest[account] ?? cursor)
            if let publishedAt = feed.cursorPublishedAt {
                sums[account, default: Sum()].keepOldest(publishedAt: publishedAt)
            }
        }
        for (account, cursor) in lowest {
            sums[account, default: Sum()].cursors.append(
                .init(lane: partition.lane, partition: partition.number, offset: cursor)
            )
            sums[account, default: Sum()].lagRecords += end.map { max(0, $0 - cursor) } ?? 0
        }
    }
}

extension FeedSums.Sum {
    fileprivate mutating func keepOldest(takenAt time: MonotonicTime) {
        oldestTakenAt = min(time, oldestTakenAt ?? time)
    }

    fileprivate mutating func keepOldest(publishedAt time: Int64) {
        cursorPublishedAt = min(time, cursorPublishedAt ?? time)
    }
}
