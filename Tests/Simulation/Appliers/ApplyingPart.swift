import BelfrySupport
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

@testable import KafkaClient
@testable import TokenRoles

/// The part of a process that applies one Kafka topic: the real ``RecordApplier`` with the role's own decoder, on
/// simulated clients.
final class ApplyingPart {
    let source: ApplyingSource
    let member: ApplyingMember
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    private let producer: ApplyingProducer
    private let pipeline: ApplyingPipeline
    /// Nil before the start, and after the end of the world.
    private var applier: RecordApplier?

    private static let batchLimit = 50
    /// Longer than what is lost in a fail-over, and the time until an applier notices.
    private static let replayWindow = Duration.seconds(60)

    init(world: ApplyingWorld, loop: SimulatedEventLoop, source: ApplyingSource, slot: Int) {
        self.source = source
        self.world = world
        self.loop = loop
        member = ApplyingMember(
            log: world.broker[source],
            world: world,
            loop: loop,
            number: world.nextNumber(),
            name: world.options.isStatic ? slot : nil
        )
        producer = ApplyingProducer(world: world, loop: loop)
        pipeline = ApplyingPipeline(world: world, loop: loop)
    }

    /// The member has its place in the group, and was told so.
    var isInGroup: Bool { applier?.isInGroup ?? false }

    func start() {
        let applier = RecordApplier(
            eventLoop: loop,
            clients: .init(consumer: member, producer: producer, redis: pipeline, layout: World.layout),
            source: source.topic,
            names: World.names,
            batchLimit: Self.batchLimit,
            logger: World.logger,
            replay: makeReplay(),
            // The keeper of push.tombstones publishes nothing: what it reads stands there.
            publishes: source != .tombstones,
            decode: Self.decoder(of: source)
        )
        self.applier = applier
        member.onAssigned = { [unowned applier] in applier.assign($0) }
        member.onRevoked = { [unowned applier] in applier.revoke($0, lost: $1) }
        member.onReadable = { [unowned applier] in applier.turn() }
        producer.onDelivery = { [unowned applier] in applier.delivered($0, error: $1) }
        producer.onReadable = { [unowned applier] in applier.turn() }
        applier.start()
        member.hear(after: world.dice.time(5...100)) { [unowned self] in member.log.group.join(member) }
    }

    private func makeReplay() -> RecordReplay? {
        guard world.options.replays else { return nil }
        return RecordReplay(
            redis: pipeline,
            window: Self.replayWindow,
            topic: source.topic,
            logger: World.logger,
            now: { [clock = world.clock] in MonotonicTime(nanoseconds: clock.now) }
        )
    }

    private static func decoder(of source: ApplyingSource) -> BatchWriter.Decode {
        switch source {
        case .registrations:
            let decoder = RegistrationDecoder(
                environments: [World.environment],
                tokenBytes: 32...100,
                now: { ApplyingRecord.published }
            )
            return { message throws(RecordRefusal) in try decoder.changes(for: message) }
        case .feedback:
            let decoder = FeedbackTupleDecoder(environments: [
                EnvironmentSettings(name: World.environment, gateways: [HostPort(host: "simulated", port: 1)])
            ])
            return { message throws(RecordRefusal) in try decoder.changes(for: message) }
        case .tombstones:
            let decoder = TombstoneDecoder(environments: [World.environment])
            return { message throws(RecordRefusal) in try decoder.changes(for: message) }
        }
    }

    /// Lets the batches in hand end and leaves the group.
    func stop(_ ended: @escaping () -> Void) {
        applier?.stop().assumeIsolated().whenComplete { _ in ended() }
    }

    /// The process is gone; the group notices when the session is over.
    func die() {
        member.die()
        member.expire()
    }

    /// The group does not wait for a process that stands still longer than a session.
    func standStill(for time: VirtualTime) {
        guard time > ApplyingGroup.sessionTimeout else { return }
        member.expire { [member] in member.hear(after: 0) { member.lose() } }
    }

    func loseRedis() { pipeline.lose() }

    /// The end of the world.
    func end() { applier = nil }
}
