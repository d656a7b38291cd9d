/// One process from its start to its end: a registrar with its keeper of push.tombstones, or a harvester.
final class ApplyingProcess {
    let slot: Int
    let parts: [ApplyingPart]
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    private(set) var isRunning = false
    private(set) var isStopping = false
    /// Parts that have not ended.
    private var open = 0
    /// Longest time from SIGTERM to the end, in which the process stands still for no moment: the patience with a
    /// batch, and with a commit, and the looks at both.
    private static let longestStop = VirtualTime.seconds(17)

    init(world: ApplyingWorld, slot: Int) {
        self.world = world
        self.slot = slot
        let loop = SimulatedEventLoop(clock: world.clock) {}
        self.loop = loop
        parts = world.options.sources(of: slot).map { ApplyingPart(world: world, loop: loop, source: $0, slot: slot) }
    }

    /// Partitions of all Kafka topics.
    var heldCount: Int { parts.reduce(0) { $0 + $1.member.heldCount } }

    func start() {
        isRunning = true
        world.note(.started, slot, 0, "process \(slot) starts")
        for part in parts { part.start() }
    }

    /// SIGTERM.
    func stop(_ ended: @escaping () -> Void) {
        isStopping = true
        open = parts.count
        world.note(.stopped, slot, 0, "process \(slot) is told to stop")
        watchStop(since: world.clock.now)
        loop.deliver(after: 0) { [self] in
            for part in parts {
                part.stop { [self] in
                    open -= 1
                    if open == 0 { end(ended) }
                }
            }
        }
    }

    private func watchStop(since told: VirtualTime) {
        let end = max(told, loop.heldUntil) + Self.longestStop
        world.clock.after(end - world.clock.now) { [self] in
            guard isRunning else { return }
            guard loop.heldUntil + Self.longestStop <= world.clock.now else { return watchStop(since: told) }
            world.auditor.fail(.ends, "process \(slot), told to stop \(Self.longestStop / .seconds(1)) s before")
        }
    }

    private func end(_ ended: () -> Void) {
        isRunning = false
        // Nothing of the process happens any more, after what it is doing now.
        world.clock.after(0) { [self] in loop.die() }
        ended()
    }

    /// Kill -9.
    func kill() {
        isRunning = false
        world.note(.crashed, slot, 0, "process \(slot) is killed")
        loop.die()
        for part in parts { part.die() }
    }

    /// The process stands still.
    func hold(for time: VirtualTime) {
        loop.hold(for: time)
        for part in parts { part.standStill(for: time) }
    }

    /// The connections to Redis are lost.
    func breakRedis() {
        for part in parts { part.loseRedis() }
    }

    /// The end of the world.
    func leave() {
        loop.die()
        for part in parts { part.end() }
    }
}
