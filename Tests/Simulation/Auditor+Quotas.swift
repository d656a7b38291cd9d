import NIOCore
import PipelineCore

@testable import KafkaClient
@testable import Sender

/// The quotas themselves: no more stays in the urgent lane than they have room for, and only what has none is moved
/// (invariant 12).
extension Auditor {
    /// Tokens that count against the quota of an app in one worker, within two bounds. They drain by the worker's own
    /// clock, which stands still with its host.
    struct QuotaUse {
        /// No more count.
        var most = 0.0
        /// No fewer count.
        var least = 0.0
        /// Nanoseconds of that clock.
        var drainedAt: UInt64 = 0

        mutating func drain(_ perMinute: Int, until now: UInt64) {
            guard drainedAt < now else { return }
            let drained = Double(perMinute) * Double(now - drainedAt) / 60e9
            most = max(0, most - drained)
            least = max(0, least - drained)
            drainedAt = now
        }
    }

    /// A feed of a worker, as of the last look.
    struct SeenFeed {
        /// Topics of records that counted.
        var topics: Set<Int>
        /// The first record that was not seen.
        var next: UInt32
    }

    /// A record that a worker has taken in since the last look.
    private struct Taken {
        /// Nil: its app has no quota, or Kafka has lost the record.
        var over: Int?
        /// The topic whose quota it counts against; nil: none.
        var topic: Int?
        var tokens: Int
        var hasBegun: Bool
    }

    /// Checks that a record is over the quota which its worker knows. All that the worker has read and not moved may
    /// count, also what has come back since.
    ///
    /// - Parameter isAgain: the record may have been handed over before, and counts among what was moved.
    func checkQuota(of record: Int, by worker: SimulatedWorker, isAgain: Bool) {
        let entry = world.records[record]
        let knowsQuota = worker.process.traits.hasQuotas && entry.form != .withoutCertificate
        guard knowsQuota, let quota = options.quotas[entry.topic] else {
            return check(false, 12, "\(worker.name) moves record \(record), though its app has no quota")
        }
        let tokens = tokenCount(of: record)
        let read = moves.read[[worker.number, entry.topic], default: 0] + (isAgain ? tokens : 0)
        check(quota < read, 12, "\(worker.name) moves record \(record), after \(read) of \(quota) tokens of its quota")
        // With a log that was cut it is not always known which record was taken in.
        guard world.broker.cut == nil, let used = moves.usedBefore[[record, worker.number]] else { return }
        check(
            Double(quota) < used + Double(tokens),
            12,
            "\(worker.name) moves record \(record), which came with \(used) of \(quota) tokens of its quota used"
        )
    }

    /// A worker gets an urgent record to read, be it once more.
    func noteReading(_ record: Int, by member: SimulatedConsumer) {
        guard member.lane == .urgent, !options.quotas.isEmpty else { return }
        moves.read[[member.number, world.records[record].topic], default: 0] += tokenCount(of: record)
    }

    // MARK: Records taken in

    /// A member is to give partitions back: what its worker has taken in before is not seen after that.
    func noteQuotas(of member: SimulatedConsumer) {
        guard member.lane == .urgent, !options.quotas.isEmpty else { return }
        if let worker = world.workers.first(where: { $0.consumer === member }) { noteQuotas(of: worker) }
    }

    /// Looks at the records that a worker has taken in: those that count against their quotas, and those that do not.
    func noteQuotas(of worker: SimulatedWorker) {
        guard worker.lane == .urgent, !options.quotas.isEmpty, let shard = worker.shard else { return }
        var feeds: [UInt32: SeenFeed] = [:]
        var taken: [Taken] = []
        for partition in shard.stages.group.assigned.values {
            let number = worker.consumer.ordinal(of: partition.place)
            for feed in partition.feeds.values where feed.topics.contains(where: { $0.urgentQuota != nil }) {
                let former = moves.feeds[worker.number]?[feed.number]
                let new = look(at: feed, in: number, of: worker, from: former?.next)
                let topics = (former?.topics ?? []).union(new.compactMap(\.topic))
                feeds[feed.number] = SeenFeed(topics: topics, next: nextRecord(of: feed))
                taken += new
            }
        }
        // A feed that has gone may have given back what it had counted.
        var returned: Set<Int> = []
        for (number, feed) in moves.feeds[worker.number] ?? [:] where feeds[number] == nil {
            returned.formUnion(feed.topics)
        }
        moves.feeds[worker.number] = feeds
        for topic in returned { moves.used[[worker.number, topic]]?.least = 0 }
        for record in taken {
            guard let topic = record.topic else { continue }
            let isKnown = !record.hasBegun && !returned.contains(topic)
            count(record.tokens, ofTopic: topic, by: worker, isKnown: isKnown)
        }
        for record in taken.compactMap(\.over) { noteOver(record, by: worker) }
    }

    /// Tokens of a record that a worker has taken in count against a quota.
    ///
    /// - Parameter isKnown: they count for certain, and only because there was room for all of them.
    func count(_ tokens: Int, ofTopic topic: Int, by worker: SimulatedWorker, isKnown: Bool) {
        guard let quota = options.quotas[topic] else { return }
        var use = moves.used[[worker.number, topic]] ?? QuotaUse()
        use.drain(quota, until: worker.loop.now.uptimeNanoseconds)
        use.most += Double(tokens)
        if isKnown { use.least += Double(tokens) }
        moves.used[[worker.number, topic]] = use
        // One that had begun stays, be it over the quota.
        guard isKnown else { return }
        let limit = Double(quota) + Self.quotaTolerance
        check(
            use.least <= limit,
            12,
            "\(worker.name) lets \(use.least) tokens of topic \(topic) stay urgent, and its quota is \(quota)"
        )
    }

    /// Sums of parts may differ by a little.
    private static let quotaTolerance = 1e-3

    /// A worker has taken in a record that does not count against the quota of its app: it is to be moved, or is fed
    /// for another reason.
    private func noteOver(_ record: Int, by worker: SimulatedWorker) {
        moves.overQuota.insert(record)
        let topic = world.records[record].topic
        // Elsewhere one that counts may be done at once, and is never seen.
        guard options.publishesAll, let quota = options.quotas[topic] else { return }
        var use = moves.used[[worker.number, topic]] ?? QuotaUse()
        use.drain(quota, until: worker.loop.now.uptimeNanoseconds)
        moves.used[[worker.number, topic]] = use
        // It may have come before, and be moved for that.
        let key = [record, worker.number]
        moves.usedBefore[key] = max(moves.usedBefore[key] ?? 0, use.most)
    }

    /// The number of the next record that a feed takes in.
    private func nextRecord(of feed: AppFeed) -> UInt32 {
        let frontier = feed.ledger.frontier
        return frontier.firstRecord &+ UInt32(truncatingIfNeeded: frontier.recordCount)
    }

    /// - Parameter next: the first record that was not seen; nil: none was.
    private func look(
        at feed: AppFeed,
        in partition: Int32,
        of worker: SimulatedWorker,
        from next: UInt32?
    ) -> [Taken] {
        let frontier = feed.ledger.frontier
        let first = max(0, next.map { Int(Int32(bitPattern: $0 &- frontier.firstRecord)) } ?? 0)
        guard first < frontier.recordCount else { return [] }
        return (first..<frontier.recordCount).compactMap { step -> Taken? in
            let record = frontier.firstRecord &+ UInt32(truncatingIfNeeded: step)
            guard let offset = frontier.offset(of: record) else { return nil }
            guard let index = feed.counted[record] else {
                let stored = recordMeant(at: offset, of: partition, by: worker.number) { _ in true }
                let ordinal = stored?.ordinal
                let hasQuota = ordinal.map { options.quotas[world.records[$0].topic] != nil } ?? false
                return Taken(over: hasQuota ? ordinal : nil, topic: nil, tokens: 0, hasBegun: false)
            }
            let tokens = frontier.tokens(of: record) ?? 0
            return Taken(
                over: nil,
                topic: feed.topics.first { $0.index == index }.flatMap { World.topic(ofBundle: $0.bundleID) },
                tokens: tokens,
                hasBegun: feed.progress(at: offset, tokens: tokens).hasBegun
            )
        }
    }
}
