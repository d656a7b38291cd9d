import Foundation
import KafkaClient
import Logging
import PushSchemas
import SwiftProtobuf

@testable import BelfryRuntime

/// A whole pipeline with everything around it, on one thread under one clock. Every choice comes from the plan's seed.
final class World {
    /// What came of a world.
    struct Report {
        var violation: Auditor.Violation?
        var hash: UInt64
        var story: [String]
        var events: Int
        var ended: VirtualTime
    }

    /// Longest life of a world after its last fault; who is not done by then never will be.
    private static let patience = VirtualTime.seconds(1500)

    let plan: WorldPlan
    let clock = VirtualClock(start: World.start)
    var dice: Dice
    private var trace: Trace
    private(set) var gateways: [SimulatedGateway] = []
    private(set) var workers: [SimulatedWorker] = []
    private var lives = 0
    private var unpublished: Int
    private var offsets: [Int64?]
    private var isHealed = false
    private var isStopping = false
    private let configuration: BelfryConfiguration
    private var parts: Parts?

    /// What refers back to the world.
    private struct Parts {
        var auditor: Auditor
        var broker: SimulatedBroker
        var redis: SimulatedRedis
    }

    init(_ plan: WorldPlan, tells: Bool = false) {
        self.plan = plan
        dice = Dice(seed: plan.seed, stream: 1)
        trace = Trace(tells: tells)
        unpublished = plan.records.count
        offsets = Array(repeating: nil, count: plan.records.count)
        configuration = Self.configuration(plan.options)
        parts = Parts(
            auditor: Auditor(world: self),
            broker: SimulatedBroker(world: self, partitions: plan.options.partitions),
            redis: SimulatedRedis(world: self)
        )
        gateways = (0..<WorldPlan.topics).map { topic in
            let perTopic = Self.tokenCount / WorldPlan.topics
            let all = (topic * perTopic..<(topic + 1) * perTopic)
            let invalid = all.filter { _ in dice.chance(plan.options.invalidTokens) }
            return SimulatedGateway(world: self, topic: topic, invalid: Set(invalid))
        }
    }

    var auditor: Auditor { existing.auditor }
    var broker: SimulatedBroker { existing.broker }
    var redis: SimulatedRedis { existing.redis }

    private var existing: Parts {
        guard let parts else { preconditionFailure("a world has its parts from its beginning") }
        return parts
    }

    var hasClockJumps: Bool {
        plan.faults.contains { if case .clockJump = $0.kind { true } else { false } }
    }

    var hasBrokenProducers: Bool {
        plan.faults.contains { if case .producerBroken = $0.kind { true } else { false } }
    }

    // MARK: Running

    /// Lets everything happen, up to the first violation.
    func run() -> Report {
        for _ in 0..<plan.options.workers { startWorker(slot: workers.count) }
        for (ordinal, record) in plan.records.enumerated() {
            clock.at(Self.start + record.time) { [self] in publish(ordinal) }
        }
        for fault in plan.faults { clock.at(Self.start + fault.time) { [self] in inject(fault) } }
        let end = max(plan.records.last?.time ?? 0, plan.faults.map { $0.time + $0.lasting }.max() ?? 0)
        clock.at(Self.start + end + .seconds(1)) { [self] in heal() }
        watch()
        let limit = Self.start + end + Self.patience
        while auditor.violation == nil, !isOver, clock.step() {
            guard clock.now < limit else {
                auditor.check(false, 1, "\(auditor.open) notifications wait for ever")
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
        for worker in workers where worker.isRunning { worker.crash() }
        clock.clear()
        return report
    }

    private var isOver: Bool { isStopping && !workers.contains(where: \.isRunning) }

    /// Looks now and then whether all is done; then the workers are told to stop.
    private func watch() {
        clock.after(.milliseconds(100)) { [self] in
            guard isHealed, isDone else { return watch() }
            isStopping = true
            for worker in workers { worker.stop() }
        }
    }

    private var isDone: Bool {
        guard unpublished == 0, !plan.options.publishesAll || auditor.open == 0 else { return false }
        return broker.partitions.indices.allSatisfy { index in
            let partition = Int32(index)
            return broker.end(of: partition) == broker.committed[partition]?.offset ?? 0
                && broker.committedParked[partition]?.metadata ?? "" == ""
        }
    }

    /// The faults are over, and the gateways know every token: what is not done now is done by and by.
    private func heal() {
        isHealed = true
        for gateway in gateways { gateway.heal() }
        for slot in 0..<plan.options.workers where !workers[slot].isRunning { startWorker(slot: slot) }
    }

    func publish(_ ordinal: Int) {
        unpublished -= 1
        auditor.published(ordinal)
        let record = plan.records[ordinal]
        broker.publish(
            ordinal,
            key: Self.key(of: record),
            value: Self.request(ordinal, record),
            timestampMilliseconds: Self.unixMilliseconds(of: record),
            partition: partition(ofRecord: ordinal)
        )
        offsets[ordinal] = broker.end(of: partition(ofRecord: ordinal)) - 1
    }

    func startWorker(slot: Int) {
        guard !isStopping else { return }
        auditor.failures = [:]
        lives += 1
        let worker = SimulatedWorker(world: self, slot: slot, number: lives)
        if slot < workers.count { workers[slot] = worker } else { workers.append(worker) }
        worker.start()
    }

    func checkLimits(ofWorker slot: Int) {
        if let shard = workers[slot].shard { auditor.checkLimits(of: shard) }
    }

    // MARK: What the parts ask and tell

    func partition(ofRecord ordinal: Int) -> Int32 {
        let record = plan.records[ordinal]
        return Int32((record.topic + record.key) % plan.options.partitions)
    }

    /// Nil before it was published.
    func offset(ofRecord ordinal: Int) -> Int64? { offsets[ordinal] }

    /// A worker's record is stored.
    ///
    /// - Returns: its offset, where that is of interest.
    func published(_ record: Published) -> Int64 {
        if record.topic == World.names.parked, let partition = record.partition {
            let offset = broker.park(record, in: partition)
            auditor.parked(broker.parked[Int(partition)][Int(offset)])
            return offset
        }
        if record.topic == World.names.outcomes {
            guard let outcome = try? PushOutcome(serializedBytes: record.value) else {
                auditor.check(false, 1, "an outcome that cannot be read")
                return 0
            }
            auditor.stored(outcome, by: record.worker, producedAt: record.time)
        } else if record.topic == World.names.tombstones {
            let tombstone = try? PushTombstone(serializedBytes: record.value)
            auditor.check(tombstone?.bundleID.isEmpty == false, 1, "a tombstone that cannot be read")
        } else {
            note(.deadLetter, record.worker, 0, "a record in \(record.topic)")
        }
        return 0
    }

    func note(_ kind: Trace.Kind, _ first: Int = 0, _ second: Int = 0, _ text: @autoclosure () -> String) {
        trace.note(kind, first, second, at: clock.now, text())
    }

    func settings(wallClock: WallClock, dice: Dice) -> ShardSettings {
        let shared = SharedDice(dice)
        let environments = Dictionary(
            uniqueKeysWithValues: configuration.environments.map {
                ($0.name, ShardSettings.Environment(settings: $0, contexts: [:]))
            }
        )
        var settings = ShardSettings(configuration, environments: environments) {
            wallClock.unixMilliseconds
        } randomBits: {
            shared.next()
        }
        settings.metadataBytes = plan.options.metadataBytes
        return settings
    }
}
