import PipelineCore

/// Changes of single topics in all partitions of the shard.
extension Group {
    /// Feeds the unfinished records of a topic anew. It does not work, and nothing of it is in flight.
    ///
    /// - Returns: the feeds that are over; nil: an acknowledgement of the broker for the topic is missing.
    func rewind(_ topic: Topic) -> [AppFeed]? {
        let all = active.flatMap { partition in
            partition.sortedFeeds.filter { $0.carries(topic) }.map { (partition, $0) }
        }
        guard all.allSatisfy({ $0.1.unacknowledged == 0 }) else { return nil }
        return all.compactMap { partition, feed in partition.rewind(feed) }
    }

    /// The topic has records in partitions that are being given back.
    func isLeaving(_ topic: Topic) -> Bool {
        assigned.values.contains { partition in
            partition.phase == .revoking
                && partition.feeds.values.contains { $0.carries(topic) && !$0.ledger.isIdle }
        }
    }

    /// The topic has records taken in or passed over.
    func hasWork(_ topic: Topic) -> Bool {
        active.contains { partition in
            partition.feeds.values.contains { $0.carries(topic) && !$0.ledger.isIdle }
        }
    }

    /// Makes topics of bundles that have waited for a certificate or for room, and hands them their feeds.
    func lookAfterUncertified(now: MonotonicTime) {
        let partitions = active
        var busy: Set<ObjectIdentifier> = []
        var waiting: Set<AppHash> = []
        for partition in partitions {
            partition.forgetRefused(directory.refused)
            for feed in partition.feeds.values where !feed.ledger.isIdle {
                busy.insert(ObjectIdentifier(feed.account))
                busy.formUnion(feed.sharers.map(ObjectIdentifier.init))
                if feed.account === directory.others { waiting.insert(feed.hash) }
            }
        }
        directory.tick(now: now)
        let found = directory.recount {
            busy.contains(ObjectIdentifier($0))
        } isWaiting: { name in
            partitions.contains { waiting.contains(name.hash($0.salt)) }
        }
        for (name, account) in found {
            for partition in partitions {
                if let feed = partition.feeds[name.hash(partition.salt)] { _ = partition.claim(feed, for: account) }
            }
        }
        guard directory.isAlarmDue(now: now) else { return }
        logger.critical(
            "too many bundles without a certificate",
            metadata: ["waiting": "\(directory.uncertifiedCount)"]
        )
    }
}
