import Logging
import PipelineCore
import PushSchemas
import RequestLanes
import TokenState

@testable import KafkaClient
@testable import Sender

/// One shard of a worker process: the real one, on simulated clients.
final class SimulatedWorker {
    /// Of this life; no other shard of any process has it.
    let number: Int
    let process: SimulatedProcess
    let lane: RequestLane
    unowned let world: World
    let loop: SimulatedEventLoop
    let consumer: SimulatedConsumer
    let producer: SimulatedProducer
    private(set) var pipeline: SimulatedPipeline?
    private(set) var shard: WorkerShard?
    /// The levers that it has read.
    private(set) var controls: AppControls
    /// Records taken in when the auditor last looked.
    var recordsBefore = 0

    var name: String { consumer.name }
    /// As the group knows it.
    var member: Int { consumer.number }
    var isRunning: Bool { shard != nil }

    init(world: World, process: SimulatedProcess, lane: RequestLane, number: Int) {
        self.world = world
        self.process = process
        self.lane = lane
        self.number = number
        let slot = process.slot
        loop = SimulatedEventLoop(clock: world.clock) { [unowned world] in
            world.checkLimits(ofSlot: slot, in: lane)
        }
        // A worker reads all of push.controls before it begins.
        controls = world.controls
        consumer = SimulatedConsumer(
            world: world,
            loop: loop,
            lane: lane,
            number: number,
            name: "w\(slot).\(number)\(lane.suffix)",
            staticName: world.plan.options.isStatic ? "w\(slot)" : nil,
            traits: process.traits
        )
        producer = SimulatedProducer(world: world, loop: loop, worker: number)
    }

    func start() {
        world.auditor.noteControls(of: self)
        let pipeline = SimulatedPipeline(worker: self, loop: loop)
        self.pipeline = pipeline
        let tokens = TokenTable(pipeline, World.layout)
        let shard = WorkerShard(
            process.settings.serving(lane, among: process.lanes),
            number: process.lanes.firstIndex(of: lane) ?? 0,
            eventLoop: loop,
            clients: WorkerShard.Clients(
                consumer: consumer,
                producer: producer,
                tokens: tokens,
                connectors: SimulatedConnectors(worker: self, loop: loop, missing: missingCertificates(tokens)),
                makeReader: { [unowned world, consumer] in SimulatedReader(world: world, consumer: consumer) },
                filters: process.follower?.filters,
                partitionCounts: EarlierLife.PartitionCounts(
                    requests: Int32(world.plan.options.partitions),
                    outcomes: 1
                ),
                hostClock: { [clock = world.clock] in MonotonicTime(nanoseconds: clock.now) },
                controls: controls
            ),
            logger: World.logger
        )
        self.shard = shard
        consumer.onAssigned = { [unowned shard] in shard.assign($0) }
        consumer.onRevoked = { [unowned shard] in shard.revoke($0, lost: $1) }
        consumer.onReadable = { [unowned shard] in shard.turnUnlessDue() }
        producer.onDelivery = { [unowned shard] in shard.delivered($0, error: $2) }
        shard.onFailure = { [unowned self] _ in
            loop.deliver(after: 0) { [self] in world.failed(process) }
        }
        pipeline.onConnected = { [unowned shard] in shard.redisConnected() }
        shard.start()
        consumer.hear(after: world.dice.time(5...100)) { [unowned self] in consumer.group.join(consumer) }
    }

    private func missingCertificates(_ tokens: TokenTable) -> MissingCertificates? {
        guard !world.plan.options.certificateGaps.isEmpty else { return nil }
        return MissingCertificates(
            tokens: tokens,
            grace: .nanoseconds(Int64(world.plan.options.certificateGrace)),
            eventLoop: loop,
            unixMilliseconds: { [wallClock = process.wallClock] in wallClock.unixMilliseconds },
            logger: World.logger
        )
    }

    /// Settles and commits, and stays a member of the group.
    func drain(then body: @escaping () -> Void) {
        loop.deliver(after: 0) { [self] in
            shard?.drain().assumeIsolated().whenComplete { _ in body() }
        }
    }

    func leaveSoon() {
        loop.deliver(after: world.dice.time(0...20)) { [self] in leave() }
    }

    private func leave() {
        guard let shard else { return }
        shard.leave()
        world.note(.stopped, process.slot, number, "\(name) has stopped: \(Self.text(shard.stages.counters.outcomes))")
        end()
        process.ended(self)
    }

    private static func text(_ outcomes: WorkerCounters.Outcomes) -> String {
        OutcomeKind.allCases.map { "\($0.name) \(outcomes[$0])" }.joined(separator: ", ")
    }

    /// Its process is killed.
    func die() {
        guard isRunning else { return }
        consumer.die()
        producer.die()
        end()
        world.clock.after(SimulatedGroup.sessionTimeout) { [consumer] in consumer.group.remove(consumer) }
    }

    private func end() {
        loop.die()
        pipeline?.die()
        world.recordsCountedLost += shard?.stages.counters.recordsLost ?? 0
        world.cutsCounted += shard?.stages.retention.offsetsBeyondEnd ?? 0
        for gateway in world.gateways {
            for connection in gateway.connections where connection.worker === self { connection.abandon() }
            for connection in gateway.streamed where connection.worker === self { connection.abandon() }
        }
        shard = nil
        pipeline = nil
    }

    /// The worker reads what operators have set.
    func readControls() {
        guard let shard else { return }
        shard.use(world.controls)
        controls = world.controls
        world.auditor.noteControls(of: self)
    }
}
