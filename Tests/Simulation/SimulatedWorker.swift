import Logging
import PipelineCore
import PushSchemas
import TokenState

@testable import KafkaClient
@testable import Sender

/// One worker process from its start to its end: the real shard, on simulated clients.
final class SimulatedWorker {
    /// Of this life; a process that is started again has another.
    let number: Int
    /// Index of this worker among the world's.
    let slot: Int
    unowned let world: World
    let loop: SimulatedEventLoop
    let consumer: SimulatedConsumer
    let producer: SimulatedProducer
    private(set) var pipeline: SimulatedPipeline?
    /// Nil where Redis is asked for every token.
    private(set) var follower: SimulatedFollower?
    private(set) var shard: WorkerShard?
    private(set) var isStopping = false
    /// The levers that it has read.
    private(set) var controls: AppControls
    private let wallClock: WallClock
    /// Records taken in when the auditor last looked.
    var recordsBefore = 0

    var name: String { consumer.name }
    /// As the group knows it.
    var member: Int { consumer.number }
    var isRunning: Bool { shard != nil }
    /// The time of day by its clock.
    var unixSeconds: Int64 { wallClock.unixMilliseconds / 1000 }
    /// It has no room for all bundles of its world.
    var isNarrow: Bool { consumer.traits.limits != nil }

    init(world: World, slot: Int, number: Int) {
        self.world = world
        self.slot = slot
        self.number = number
        loop = SimulatedEventLoop(clock: world.clock) { [unowned world] in world.checkLimits(ofWorker: slot) }
        wallClock = WallClock(world.clock)
        // A worker reads all of push.controls before it begins.
        controls = world.controls
        consumer = SimulatedConsumer(
            world: world,
            loop: loop,
            number: number,
            name: "w\(slot).\(number)",
            staticName: world.plan.options.isStatic ? "w\(slot)" : nil
        )
        producer = SimulatedProducer(world: world, loop: loop, worker: number)
    }

    func start() {
        world.note(.started, slot, number, "\(name) starts")
        let pipeline = SimulatedPipeline(worker: self, loop: loop)
        self.pipeline = pipeline
        let tokens = TokenTable(pipeline, World.layout)
        if world.plan.options.filterMaxAge > 0 { follower = SimulatedFollower(world: world, shard: loop) }
        let shard = WorkerShard(
            world.settings(
                wallClock: wallClock,
                dice: Dice(seed: world.plan.seed, stream: UInt64(number) + 100),
                consumer.traits
            ),
            number: 0,
            eventLoop: loop,
            clients: WorkerShard.Clients(
                consumer: consumer,
                producer: producer,
                tokens: tokens,
                connectors: SimulatedConnectors(worker: self, loop: loop, missing: missingCertificates(tokens)),
                makeReader: { [unowned world, consumer] in SimulatedReader(world: world, consumer: consumer) },
                filters: follower?.filters,
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
        consumer.onReadable = { [unowned shard] in shard.turn() }
        producer.onDelivery = { [unowned shard] in shard.delivered($0, error: $2) }
        shard.onFailure = { [unowned self] _ in
            loop.deliver(after: 0) { [self] in world.failed(self) }
        }
        pipeline.onConnected = { [unowned shard] in shard.redisConnected() }
        shard.start()
        consumer.hear(after: world.dice.time(5...100)) { [unowned self] in world.broker.group.join(consumer) }
    }

    private func missingCertificates(_ tokens: TokenTable) -> MissingCertificates? {
        guard !world.plan.options.certificateGaps.isEmpty else { return nil }
        return MissingCertificates(
            tokens: tokens,
            grace: .nanoseconds(Int64(world.plan.options.certificateGrace)),
            eventLoop: loop,
            unixMilliseconds: { [wallClock] in wallClock.unixMilliseconds },
            logger: World.logger
        )
    }

    /// SIGTERM: drains, commits and leaves; then the process ends.
    func stop() {
        guard !isStopping, isRunning else { return }
        isStopping = true
        world.note(.stopped, slot, number, "\(name) is told to stop")
        loop.deliver(after: 0) { [self] in
            guard let shard else { return }
            shard.drain().assumeIsolated().whenComplete { [self] _ in
                loop.deliver(after: world.dice.time(0...20)) { [self] in leave() }
            }
        }
    }

    private func leave() {
        guard let shard else { return }
        shard.leave()
        world.note(.stopped, slot, number, "\(name) has stopped: \(Self.text(shard.stages.counters.outcomes))")
        end()
    }

    private static func text(_ outcomes: WorkerCounters.Outcomes) -> String {
        OutcomeKind.allCases.map { "\($0.name) \(outcomes[$0])" }.joined(separator: ", ")
    }

    /// Kill -9. What its kernel and the network have goes its way.
    func crash() {
        guard isRunning else { return }
        world.note(.crashed, slot, number, "\(name) is killed")
        consumer.die()
        producer.die()
        end()
        let group = world.broker.group
        world.clock.after(SimulatedGroup.sessionTimeout) { [consumer] in group.remove(consumer) }
    }

    private func end() {
        loop.die()
        follower?.die()
        pipeline?.die()
        world.recordsCountedLost += shard?.stages.counters.recordsLost ?? 0
        world.cutsCounted += shard?.stages.retention.offsetsBeyondEnd ?? 0
        for gateway in world.gateways {
            for connection in gateway.connections where connection.worker === self { connection.abandon() }
            for connection in gateway.streamed where connection.worker === self { connection.abandon() }
        }
        shard = nil
        pipeline = nil
        follower = nil
    }

    /// The worker reads what operators have set.
    func readControls() {
        guard let shard else { return }
        shard.use(world.controls)
        controls = world.controls
    }

    /// The machine's wall clock is set.
    func jump(seconds: Int) {
        wallClock.skewMilliseconds += Int64(seconds) * 1000
    }
}

/// The time of day as a worker takes it. Used by the world's thread only.
final class WallClock: @unchecked Sendable {
    private unowned let clock: VirtualClock
    var skewMilliseconds: Int64 = 0

    init(_ clock: VirtualClock) {
        self.clock = clock
    }

    var unixMilliseconds: Int64 {
        Int64(World.unixSeconds(clock.now)) * 1000 + Int64(clock.now / 1_000_000 % 1000) + skewMilliseconds
    }
}

/// The random bits of one worker. Used by the world's thread only.
final class SharedDice: @unchecked Sendable {
    private var dice: Dice

    init(_ dice: Dice) {
        self.dice = dice
    }

    func next() -> UInt64 { dice.next() }
}
