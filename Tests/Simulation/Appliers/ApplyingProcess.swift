import PushTopics
import TokenState

@testable import KafkaClient
@testable import TokenRoles

/// One process with an applier from its start to its end: the real one, on simulated clients.
final class ApplyingProcess {
    let slot: Int
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    private let member: ApplyingMember
    private let producer: ApplyingProducer
    private let pipeline: ApplyingPipeline
    private var applier: RecordApplier?
    private(set) var isRunning = false
    private(set) var isStopping = false

    init(world: ApplyingWorld, slot: Int, number: Int) {
        self.world = world
        self.slot = slot
        loop = SimulatedEventLoop(clock: world.clock) {}
        member = ApplyingMember(world: world, loop: loop, number: number)
        producer = ApplyingProducer(world: world, loop: loop)
        pipeline = ApplyingPipeline(world: world, loop: loop)
    }

    func start() {
        isRunning = true
        world.note(.started, slot)
        let applier = RecordApplier(
            eventLoop: loop,
            clients: .init(consumer: member, producer: producer, redis: pipeline),
            source: ApplyingWorld.topic,
            names: TopicNames(),
            batchLimit: 50,
            logger: World.logger
        ) { message throws(RecordRefusal) in
            guard !message.value.starts(with: Array("bad".utf8)) else {
                throw RecordRefusal(reason: "is-bad", detail: "it says so")
            }
            return [
                TokenChange(
                    environment: "sandbox",
                    bundleID: "com.example.news",
                    token: Array(message.value),
                    kind: .register(at: 1, TokenTexts())
                )
            ]
        }
        self.applier = applier
        member.onAssigned = { [unowned applier] in applier.assign($0) }
        member.onRevoked = { [unowned applier] in applier.revoke($0, lost: $1) }
        member.onReadable = { [unowned applier] in applier.turn() }
        producer.onDelivery = { [unowned applier] in applier.delivered($0, error: $1) }
        producer.onReadable = { [unowned applier] in applier.turn() }
        applier.start()
        member.hear(after: world.dice.time(5...100)) { [unowned self] in world.group.join(member) }
    }

    /// SIGTERM.
    func stop(_ ended: @escaping () -> Void) {
        isStopping = true
        world.note(.stopped, slot)
        loop.deliver(after: 0) { [self] in
            applier?.stop().assumeIsolated().whenComplete { [self] _ in
                isRunning = false
                // Nothing of the process happens any more, after what it is doing now.
                world.clock.after(0) { [self] in loop.die() }
                ended()
            }
        }
    }

    /// Kill -9.
    func kill() {
        isRunning = false
        world.note(.crashed, slot)
        member.die()
        loop.die()
        world.clock.after(ApplyingGroup.sessionTimeout) { [world, member] in world.group.remove(member) }
    }

    /// The process stands still; the group does not wait for it longer than a session.
    func hold(for time: VirtualTime) {
        loop.hold(for: time)
        guard time > ApplyingGroup.sessionTimeout else { return }
        world.clock.after(ApplyingGroup.sessionTimeout) { [world, member] in
            guard world.group.contains(member) else { return }
            world.group.remove(member)
            member.hear(after: 0) { member.lose() }
        }
    }

    /// The connection to Redis is lost.
    func breakRedis() { pipeline.lose() }
}
