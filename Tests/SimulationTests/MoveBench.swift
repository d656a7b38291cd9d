import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// A world whose worker has read the first of two records to the same tokens, which is urgent. The other is not,
/// unless it is asked for.
struct MoveBench {
    static let header = "belfry-moved-from"

    let world: World
    let worker: SimulatedWorker
    let other: SimulatedWorker

    /// - Parameters:
    ///   - quota: of the app; nil: it has none.
    ///   - isSecondUrgent: the second record is urgent, too. It is to one token then, and the first to two.
    ///   - addsToBadge: the records add to the numbers of their tokens.
    ///   - publishesAll: outcomes of all kinds, and not of failures alone.
    ///   - prepare: is called before the worker starts.
    init(
        quota: Int? = 0,
        hasBrokenProducer: Bool = false,
        isSecondUrgent: Bool = false,
        addsToBadge: Bool = false,
        publishesAll: Bool = true,
        _ prepare: (World) -> Void = { _ in }
    ) throws {
        var plan = WorldPlan(seed: 1, features: [])
        plan.options.requestLanes = [.urgent, .normal]
        plan.options.servedLanes = [plan.options.requestLanes]
        plan.options.publishesAll = publishesAll
        plan.options.isPunctual = true
        plan.options.policy = .resend
        plan.options.coalescingKeys = 0
        plan.options.hasBadges = addsToBadge
        plan.faults = hasBrokenProducer ? [Fault(.producerBroken, at: .seconds(1))] : []
        var first = plan.records[0]
        first.coalescingKey = 0
        first.backdated = 0
        first.lane = .urgent
        first.addsToBadge = addsToBadge
        if isSecondUrgent { first.tokens = [0, 1] }
        var second = first
        second.time += .seconds(1)
        second.lane = isSecondUrgent ? .urgent : .normal
        if isSecondUrgent { second.tokens = [0] }
        plan.records = [first, second]
        if let quota { plan.options.quotas = [first.topic: quota] }
        let made = World(plan)
        prepare(made)
        made.startWorker(slot: 0)
        made.publish(0)
        let process = made.processes[0]
        let urgent = try #require(process.worker(of: .urgent))
        let normal = try #require(process.worker(of: .normal))
        made.auditor.assigned(urgent.consumer, made.partition(ofRecord: 0))
        world = made
        worker = urgent
        other = normal
    }

    var auditor: Auditor { world.auditor }
    /// The record that a move makes.
    var copied: Int { world.plan.records.count }
    var broken: Int? { auditor.violation?.invariant }
    var token: Int { auditor.notifications[0].token }
    var topic: Int { world.plan.records[0].topic }

    /// A record as its worker moves it.
    ///
    /// - Parameter origin: the place that it names; nil: the right one.
    func publication(of record: Int = 0, from origin: String? = nil) -> Published {
        let stored = world.broker.partitions[Int(world.partition(ofRecord: record))]
        let original = stored.first { $0.ordinal == record }?.record
        let text = origin ?? auditor.place(ofRecord: record)
        return Published(
            topic: World.requests,
            partition: nil,
            key: original?.key ?? [],
            value: original?.value ?? [],
            headers: [(Self.header, Array(text.utf8))],
            worker: worker.number,
            time: world.clock.now
        )
    }

    /// The worker reads a record, and moves it.
    func move(_ number: Int = 0) {
        auditor.noteReading(number, by: worker.consumer)
        var record = publication(of: number)
        record.ownedSince = auditor.moving(record)
        _ = world.published(record)
    }

    /// A worker commits a position behind a record.
    func commit(past record: Int, by worker: SimulatedWorker) {
        let partition = world.partition(ofRecord: record)
        let place = world.laneMap.place(of: partition)
        let position = KafkaPartitionOffset(
            topic: place.topic,
            partition: place.partition,
            offset: (world.offset(ofRecord: record) ?? 0) + 1,
            metadata: ""
        )
        auditor.assigned(worker.consumer, partition)
        auditor.committed(position, meaning: position, by: worker.consumer)
    }

    func settle(_ record: Int) {
        for number in auditor.firstOf[record]..<auditor.end(of: record) {
            auditor.notifications[number].outcomeAt = world.clock.now
        }
    }

    /// An outcome of a record's first token.
    func outcome(_ kind: PushOutcomeKind, of record: Int) -> PushOutcome {
        let place = world.laneMap.place(of: world.partition(ofRecord: record))
        var outcome = PushOutcome()
        outcome.sourceTopic = place.topic
        outcome.sourcePartition = place.partition
        outcome.sourceOffset = world.offset(ofRecord: record) ?? -1
        outcome.kind = kind
        return outcome
    }
}
