import PipelineCore
import RequestLanes

@testable import Sender

/// Invariant 7, of bytes: what a shard holds of its topics, by the auditor's own count.
///
/// All that lies between a topic's cursor and the next record that it is fed counts: it is prepared, waits, is in
/// flight, or has its outcome and waits for an older one.
extension Auditor {
    /// Facts that are known of the bytes of one shard.
    struct Memory {
        /// Records that the shard had taken in when its bytes were last counted: only with more it holds more.
        var taken = 0
        /// Topics, by their hashes, that hold what they took while they were probed.
        var probed: Set<AppHash> = []
    }

    /// Bytes and the largest record of them.
    private struct Held {
        var bytes = 0
        var largest = 0

        mutating func add(_ record: Int) {
            bytes += record
            largest = max(largest, record)
        }

        /// Bytes before the last record came, or fewer.
        var bytesBefore: Int { bytes - largest }
    }

    /// Checks that the last record came to a topic, and to a shard, that had room.
    func checkBytes(of shard: WorkerShard, _ owner: SimulatedWorker) {
        let worker = owner.number
        let limit = Int(Double(options.memoryBytes) * owner.lane.memoryShare(among: owner.process.lanes))
        forgetProbes(of: shard, worker: worker)
        let taken = shard.stages.intake.counters.records
        guard memory[worker, default: .init()].taken < taken else { return }
        memory[worker, default: .init()].taken = taken
        var topics: [AppHash: Held] = [:]
        var probing = Held()
        for partition in shard.stages.group.assigned.values {
            for feed in partition.feeds.values where feed.ledger.frontier.recordCount > 0 {
                let number = owner.consumer.ordinal(of: partition.place)
                count(feed, of: owner, in: number, &topics[feed.hash, default: Held()])
                if case .notifications = feed.account.feeding {
                    memory[worker, default: .init()].probed.insert(feed.hash)
                    // Notifications that leave with their partition may have been taken before the topic stopped.
                    if partition.phase == .active { count(feed, of: owner, in: number, &probing, isProbe: true) }
                }
            }
        }
        var all = Held()
        for (topic, held) in topics {
            check(held.bytesBefore < limit / 2, 7, "a topic holds \(held.bytes) bytes")
            // One record for a probe is taken, whatever the others hold.
            guard memory[worker]?.probed.contains(topic) == false else { continue }
            all.bytes += held.bytes
            all.largest = max(all.largest, held.largest)
        }
        check(all.bytesBefore < limit, 7, "a shard holds \(all.bytes) bytes")
        // A topic may have dead letters under way when its certificate comes and it is probed.
        guard options.certificateGaps.isEmpty else { return }
        check(probing.bytesBefore < limit / 4, 7, "a shard holds \(probing.bytes) bytes for probes")
    }

    /// - Parameter isProbe: records that are discarded do not count, as they may be under way when a probe begins.
    private func count(
        _ feed: AppFeed,
        of worker: SimulatedWorker,
        in partition: Int32,
        _ held: inout Held,
        isProbe: Bool = false
    ) {
        guard let first = feed.ledger.cursor, let next = feed.ledger.frontier.nextOffset else { return }
        let stored = world.broker.partitions[Int(partition)]
        // Of what retention took it is not known whether the shard had it before.
        let place = world.broker.place(of: max(first, world.broker.low[Int(partition)]), in: partition)
        let readsJSON = worker.consumer.traits.readsJSON
        for entry in stored[place...].prefix(while: { $0.record.offset < next })
        where world.topic(of: entry.ordinal) == feed.hash && (!isProbe || !isDiscarded(entry.ordinal)) {
            // A record that its decoder refuses lies in the feed of the refused, or of a topic that it may be of.
            guard readsJSON || world.records[entry.ordinal].form != .json else { continue }
            // The shard has the record that was there before, if any.
            guard !isReplacement(firstOf[entry.ordinal]) else { continue }
            held.add(bytes(of: entry))
        }
    }

    /// Bytes that a record costs at least: itself, its headers once more, and a frame for each of its tokens.
    private func bytes(of entry: SimulatedBroker.Stored) -> Int {
        let record = world.records[entry.ordinal]
        // Of what becomes a dead letter as a whole, for want of a certificate for instance, no frame is made; nor of
        // what is discarded.
        let mayBeGivenUp = options.certificateGaps.contains { $0.topic == record.topic }
        let isSent =
            !record.isRefused && record.form != .withoutCertificate && !mayBeGivenUp
            && !isDiscarded(entry.ordinal)
        let frame = ShardLimits.notificationBytes + (isSent ? World.payloadBytes : 0)
        let headers = entry.record.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.count }
        return (entry.record.value?.count ?? 0) + (entry.record.key?.count ?? 0) + 2 * headers
            + record.tokens.count * frame
    }

    private func forgetProbes(of shard: WorkerShard, worker: Int) {
        guard memory[worker]?.probed.isEmpty == false else { return }
        var holding: Set<AppHash> = []
        for partition in shard.stages.group.assigned.values {
            for feed in partition.feeds.values where feed.ledger.frontier.recordCount > 0 { holding.insert(feed.hash) }
        }
        memory[worker]?.probed.formIntersection(holding)
    }
}
