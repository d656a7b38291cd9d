import BelfrySupport
import Foundation
import KafkaClient
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes
import SwiftProtobuf

@testable import Sender
@testable import SimulatedServers

/// A whole pipeline with everything around it, on one thread under one clock. Every choice comes from the plan's seed.
final class World {
    /// The result of a world.
    struct Report {
        var violation: Auditor.Violation?
        var hash: UInt64
        var story: [String]
        var events: Int
        var ended: VirtualTime
    }

    /// Longest life of a world after its last fault; a world that is not done by then never will be. A topic whose
    /// notifications go one by one has the time for each besides.
    private var patience: VirtualTime {
        let notifications = Dictionary(plan.records.map { ($0.topic, $0.tokens.count) }, uniquingKeysWith: +)
        let turns = (notifications.values.max() ?? 0) / max(1, plan.options.inFlight)
        return .seconds(1500) + VirtualTime(turns) * plan.options.window
    }

    let plan: WorldPlan
    let clock = VirtualClock(start: World.start)
    var dice: Dice
    private var trace: Trace
    private(set) var gateways: [SimulatedGateway] = []
    private(set) var processes: [SimulatedProcess] = []
    private var lives = 0
    private var unpublished: Int
    private var offsets: [Int64?]
    private var isHealed = false
    private var isStopping = false
    /// No worker is to run: an operator is at work.
    var isClosed = false
    /// The end of the brokers' refusal of a Kafka topic.
    var refusedTopics: [String: (until: VirtualTime, refusal: PublishingRefusal)] = [:]
    /// Records that workers counted as lost to retention, those of workers that have ended.
    var recordsCountedLost = 0
    /// Partitions that workers counted as cut, those of workers that have ended.
    var cutsCounted = 0
    let laneMap: LaneMap
    /// The records of the plan, and behind them those that workers have made.
    private(set) var records: [WorldPlan.Record]
    /// The topics that the sender counts the records to, and the partitions.
    private var topics: [AppHash]
    private var partitions: [Int32]
    let tokens: Tokens
    let tombstones = SimulatedTombstones()
    /// The levers that operators have set.
    var controls = AppControls()
    private let configuration: BelfryConfiguration
    private var parts: Parts?

    /// The parts that refer back to the world. A class, so that asking for one counts no references of the others.
    private final class Parts {
        let auditor: Auditor
        let broker: SimulatedBroker
        let redis: WorldRedis

        init(_ world: World) {
            auditor = Auditor(world: world)
            broker = SimulatedBroker(world: world)
            redis = WorldRedis(world: world)
        }
    }

    init(_ plan: WorldPlan, tells: Bool = false) {
        self.plan = plan
        dice = Dice(seed: plan.seed, stream: 1)
        tokens = plan.options.isSpread ? .spread : .plain
        trace = Trace(tells: tells)
        records = plan.records
        topics = plan.records.map { Self.topic(of: $0, plan.options) }
        let lanes = LaneMap(plan.options.requestLanes, partitions: plan.options.partitions)
        laneMap = lanes
        partitions = plan.records.map { record in
            let place = (record.topic + record.key + record.shift) % plan.options.partitions
            return lanes.partitions(of: record.lane).lowerBound + Int32(place)
        }
        unpublished = plan.records.count
        offsets = Array(repeating: nil, count: plan.records.count)
        configuration = Self.configuration(plan.options)
        parts = Parts(self)
        gateways = (0..<plan.options.topics).map { topic in
            let perTopic = WorldPlan.keysPerTopic * WorldPlan.tokensPerKey
            let all = (topic * perTopic..<(topic + 1) * perTopic)
            let invalid = all.filter { _ in dice.chance(plan.options.invalidTokens) }
            return SimulatedGateway(world: self, topic: topic, invalid: Set(invalid))
        }
    }

    var auditor: Auditor { existing.auditor }
    var broker: SimulatedBroker { existing.broker }
    var redis: WorldRedis { existing.redis }

    private var existing: Parts {
        guard let parts else { preconditionFailure("a world has its parts from its beginning") }
        return parts
    }

    /// The shards of all processes, in the order of their slots and lanes.
    var workers: [SimulatedWorker] { processes.flatMap(\.workers) }

    var hasClockJumps: Bool {
        plan.faults.contains { fault in
            switch fault.kind {
            case .clockJump, .redisClockJump: true
            default: false
            }
        }
    }

    var hasPositionsByHand: Bool {
        plan.faults.contains { if case .offsetsSet = $0.kind { true } else { false } }
    }

    var hasBrokenProducers: Bool {
        plan.faults.contains { if case .producerBroken = $0.kind { true } else { false } }
    }

    // MARK: Running

    /// Lets everything happen, up to the first violation.
    func run() -> Report {
        if plan.options.hasRegistrations { registerTokens() }
        for _ in 0..<plan.options.workers { startWorker(slot: processes.count) }
        for (ordinal, record) in plan.records.enumerated() {
            clock.at(Self.start + record.time) { [self] in publish(ordinal) }
        }
        for fault in plan.faults { clock.at(Self.start + fault.time) { [self] in inject(fault) } }
        for sickness in plan.options.sick where sickness.topic < gateways.count {
            clock.at(Self.start + sickness.from) { [self] in fallSick(sickness) }
        }
        let end = max(plan.records.last?.time ?? 0, plan.faults.map { $0.time + $0.lasting }.max() ?? 0)
        clock.at(Self.start + end + .seconds(1)) { [self] in heal() }
        watch()
        let limit = Self.start + end + patience
        let auditor = auditor
        while auditor.violation == nil, !isOver, clock.step() {
            guard clock.now < limit else {
                auditor.check(false, 1, "\(auditor.waiting) notifications wait for ever")
                break
            }
        }
        if auditor.violation == nil { auditor.close() }
        let report = Report(
            violation: auditor.violation,
            hash: trace.hash,
            story: trace.story,
            events: trace.events,
            ended: clock.now - Self.start
        )
        for process in processes { process.crash() }
        clock.clear()
        return report
    }

    /// One token of each bundle whose certificate is missing at times.
    private func registerTokens() {
        for gap in plan.options.certificateGaps {
            let token = Self.ordinal(topic: gap.topic, key: 0, token: 0)
            redis.register(key: redisKey(of: token), at: Self.unixSeconds(Self.start) - 1000)
        }
    }

    /// The key of a token's state in Redis.
    func redisKey(of token: Int) -> [UInt8] {
        let environment = plan.options.environment(of: Self.place(ofToken: token).topic)
        return Self.redisKey(of: tokens.bytes[token], ordinal: token, in: environment)
    }

    /// The number of a token in Redis.
    func badge(of token: Int) -> Int {
        let environment = plan.options.environment(of: Self.place(ofToken: token).topic)
        return Int(redis.badges.number(Self.badgeKey(of: tokens.bytes[token], ordinal: token, in: environment)))
    }

    /// The topic that the sender counts a record to.
    func topic(of record: Int) -> AppHash { topics[record] }

    /// The directory of certificates has one for a topic.
    func hasCertificate(_ topic: Int) -> Bool {
        !plan.options.certificateGaps.contains { gap in
            gap.topic == topic && (!isHealed || gap.isForGood) && gap.contains(clock.now - Self.start)
        }
    }

    private var isOver: Bool { isStopping && !processes.contains(where: \.isRunning) }

    /// Looks now and then whether all is done; then the workers are told to stop.
    private func watch() {
        clock.after(.milliseconds(100)) { [self] in
            guard isHealed, !isClosed, isDone else { return watch() }
            isStopping = true
            for process in processes { process.stop() }
        }
    }

    private var isDone: Bool {
        // An operator comes.
        if let cut = broker.cut, !cut.isMended, isCutKnown { return false }
        guard unpublished == 0, !plan.options.publishesAll || auditor.open == 0 || auditor.isNoneWaiting else {
            return false
        }
        guard plan.options.sick.isEmpty else { return auditor.isCommittedButForSick }
        return broker.partitions.indices.allSatisfy { index in
            let partition = Int32(index)
            return broker.end(of: partition) == broker.committed[partition]?.offset ?? 0
                && auditor.hasNoLaggard(partition) || isCommittedBeyondCut(partition)
        }
    }

    /// The faults are over, and the gateways know every token: what is not done now is done by and by.
    private func heal() {
        isHealed = true
        refusedTopics = [:]
        for gateway in gateways { gateway.heal() }
        if !plan.options.isForGood { redis.mend() }
        for process in processes where process.isRunning && process.isNarrow {
            process.stop()
            if process.slot < plan.options.workers { restart(process, after: .milliseconds(100)) }
        }
        for slot in 0..<plan.options.workers where !processes[slot].isRunning { startWorker(slot: slot) }
    }

    /// The traits of a worker's life; those of the last lives let the world end.
    func drawTraits(ofLife number: Int) -> OwnerTraits {
        var traits = OwnerTraits()
        guard !isHealed else { return traits }
        if plan.options.hasDifferentOwners {
            var dice = Dice(seed: plan.seed, stream: UInt64(number) + 5000)
            traits = OwnerTraits(&dice)
        }
        if plan.options.changesQuotas {
            var dice = Dice(seed: plan.seed, stream: UInt64(number) + 6000)
            traits.hasQuotas = dice.chance(60)
        }
        return traits
    }

    func publish(_ ordinal: Int) {
        unpublished -= 1
        auditor.published(ordinal)
        let record = plan.records[ordinal]
        broker.publish(
            ordinal,
            key: Self.key(of: record),
            value: Self.request(
                ordinal,
                record,
                tokens,
                environment: Self.writtenEnvironment(of: record, plan.options)
            ),
            headers: Self.headers(of: record),
            timestampMilliseconds: Self.unixMilliseconds(of: record),
            partition: partition(ofRecord: ordinal)
        )
        noteOffset(ofRecord: ordinal)
    }

    /// A record is the last one of its partition now.
    func noteOffset(ofRecord ordinal: Int) { offsets[ordinal] = broker.end(of: partition(ofRecord: ordinal)) - 1 }

    /// A worker has made a record.
    ///
    /// - Returns: its ordinal.
    func append(_ record: WorldPlan.Record, in partition: Int32) -> Int {
        records.append(record)
        topics.append(Self.topic(of: record, plan.options))
        partitions.append(partition)
        offsets.append(nil)
        return records.count - 1
    }

    func startWorker(slot: Int) {
        guard !isStopping, !isClosed else { return }
        auditor.failures = [:]
        let process = SimulatedProcess(world: self, slot: slot, number: lives + 1)
        lives += process.workers.count
        if slot < processes.count { processes[slot] = process } else { processes.append(process) }
        process.start()
    }

    func checkLimits(ofSlot slot: Int, in lane: RequestLane) {
        guard slot < processes.count, let worker = processes[slot].worker(of: lane), let shard = worker.shard
        else { return }
        auditor.checkLimits(of: shard, worker)
        auditor.checkWork(of: worker)
        auditor.checkWarmth(of: shard, worker)
    }

    // MARK: What the parts ask and tell

    /// See ``LaneMap``.
    func partition(ofRecord ordinal: Int) -> Int32 { partitions[ordinal] }

    /// The ledgers of a worker, for the story.
    func ledgers(of member: SimulatedConsumer) -> String {
        guard let shard = workers.first(where: { $0.consumer === member })?.shard else { return "" }
        return shard.stages.group.assigned.values.sorted { $0.number < $1.number }.map { partition in
            let feeds = partition.sortedFeeds.map { feed in
                let gap = feed.ledger.gap.map { "\($0.next)...\($0.last)" } ?? "live"
                return "\(feed.account.topic?.bundleID ?? "?")#\(feed.number): cursor \(feed.ledger.cursor ?? -1), "
                    + "\(feed.ledger.frontier.recordCount) open, \(gap), \(feed.account.feeding)"
            }
            return
                "\(partition.number) live \(partition.liveNext ?? -1) read \(partition.catchUp.position ?? -1) \(feeds)"
        }.joined(separator: " | ")
    }

    /// A worker's last commit has an offset that is held by a topic without a name in the metadata.
    func holdsOffsets(_ member: SimulatedConsumer) -> Bool {
        guard let shard = workers.first(where: { $0.consumer === member })?.shard else { return false }
        return shard.stages.commits.unnamed.values.contains { $0 > 0 }
    }

    /// The ordinal of a record's first token.
    func firstToken(of record: Int) -> Int {
        let entry = plan.records[record]
        return Self.ordinal(topic: entry.topic, key: entry.key, token: entry.tokens[0])
    }

    /// Nil before it was published.
    func offset(ofRecord ordinal: Int) -> Int64? { offsets[ordinal] }

    /// A worker's record is stored.
    ///
    /// - Returns: its offset, where that is of interest.
    func published(_ record: Published) -> Int64 {
        if record.topic == World.names.outcomes {
            broker.outcomes += 1
            guard let outcome = try? PushOutcome(serializedBytes: record.value) else {
                auditor.check(false, 1, "an outcome that cannot be read")
                return 0
            }
            auditor.stored(outcome, by: record.worker, producedAt: record.time, headers: record.headers)
        } else if record.topic == World.names.tombstones {
            let tombstone = try? PushTombstone(serializedBytes: record.value)
            auditor.check(tombstone?.bundleID.isEmpty == false, 1, "a tombstone that cannot be read")
            guard let tombstone, plan.options.filterMaxAge > 0 else { return 0 }
            tombstones.append(key: record.key, value: record.value)
            let latest = tombstone.refused.reduce(tombstone.tombstonedAt) { max($0, $1.refusedAt) }
            auditor.tombstonePublished(Array(tombstone.token), at: UInt32(clamping: latest))
        } else if record.topic == Self.requests {
            return moved(record)
        } else {
            note(.deadLetter, record.worker, 0, "a record in \(record.topic)")
            auditor.deadLettered(record)
        }
        return 0
    }

    func note(_ kind: Trace.Kind, _ first: Int = 0, _ second: Int = 0, _ text: @autoclosure () -> String) {
        trace.note(kind, first, second, at: clock.now, text())
    }

    func settings(wallClock: WallClock, dice: Dice, _ traits: OwnerTraits) -> ShardSettings {
        let shared = SharedDice(dice)
        var settings = ShardSettings(traits.changed(configuration)) {
            wallClock.unixMilliseconds
        } randomBits: {
            shared.next()
        }
        settings.metadataBytes = plan.options.metadataBytes
        settings.newSalt = { [options = plan.options] in Self.salt(options) }
        settings.decoderEdition = traits.edition
        if let limits = traits.limits { settings.topicLimits = limits }
        settings.publicationUnits = plan.options.publicationUnits
        if let near = plan.options.near {
            settings.nearRecords = near.records
            settings.nearBytes = near.bytes
        }
        // Worlds have few tokens, and to clear room for many takes longer than the rest of a world.
        settings.acceptedTokenBits = 6
        return settings
    }
}
