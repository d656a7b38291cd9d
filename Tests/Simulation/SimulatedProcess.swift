import RequestLanes

@testable import Sender

/// One worker process from its start to its end: a shard for each lane that it serves, and what they share.
final class SimulatedProcess {
    /// Of this life: that of its first shard. A process that is started again has another.
    let number: Int
    /// Index of this process among the world's.
    let slot: Int
    /// The lanes that it serves, ascending.
    let lanes: [RequestLane]
    let traits: OwnerTraits
    /// Of all lanes: its shards share the health of topics and the budget of connections.
    let settings: ShardSettings
    let wallClock: WallClock
    /// Its shards that have not ended, in the order of their lanes.
    private(set) var workers: [SimulatedWorker] = []
    /// Nil where Redis is asked for every token.
    private(set) var follower: SimulatedFollower?
    private(set) var isStopping = false
    private unowned let world: World

    init(world: World, slot: Int, number: Int) {
        self.world = world
        self.slot = slot
        self.number = number
        lanes = world.plan.options.lanesServed(bySlot: slot)
        traits = world.drawTraits(ofLife: number)
        wallClock = WallClock(world.clock)
        settings = world.settings(
            wallClock: wallClock,
            dice: Dice(seed: world.plan.seed, stream: UInt64(number) + 100),
            traits
        )
        workers = lanes.enumerated().map { place, lane in
            SimulatedWorker(world: world, process: self, lane: lane, number: number + place)
        }
    }

    var name: String { "w\(slot).\(number)" }
    var isRunning: Bool { !workers.isEmpty }
    /// The time of day by its clock.
    var unixSeconds: Int64 { wallClock.unixMilliseconds / 1000 }
    /// It has no room for all bundles of its world.
    var isNarrow: Bool { traits.limits != nil }

    func worker(of lane: RequestLane) -> SimulatedWorker? { workers.first { $0.lane == lane } }

    func start() {
        world.note(.started, slot, number, "\(name) starts")
        world.auditor.started(self)
        if world.plan.options.filterMaxAge > 0 {
            follower = SimulatedFollower(world: world, shards: workers.map(\.loop))
        }
        for worker in workers { worker.start() }
    }

    /// SIGTERM: all shards drain and commit before the first leaves its group; then the process ends.
    func stop() {
        guard !isStopping, isRunning else { return }
        isStopping = true
        world.note(.stopped, slot, number, "\(name) is told to stop")
        var draining = workers.count
        for worker in workers {
            worker.drain { [self] in
                draining -= 1
                guard draining == 0 else { return }
                for worker in workers { worker.leaveSoon() }
            }
        }
    }

    /// A shard has left its group and ended.
    func ended(_ worker: SimulatedWorker) {
        workers.removeAll { $0 === worker }
        if workers.isEmpty { endFollower() }
    }

    /// Kill -9. What its kernel and the network have goes its way.
    func crash() {
        guard isRunning else { return }
        world.note(.crashed, slot, number, "\(name) is killed")
        for worker in workers { worker.die() }
        workers = []
        endFollower()
    }

    private func endFollower() {
        follower?.die()
        follower = nil
    }

    /// The process gets no processor time for so long.
    func hold(for time: VirtualTime) {
        for worker in workers { worker.loop.hold(for: time) }
    }

    /// Its host is suspended for so long.
    func suspend(for time: VirtualTime) {
        for worker in workers { worker.loop.suspend(for: time) }
    }

    /// The process reads what operators have set, and tells its shards, after a time.
    func readControls(after time: VirtualTime) {
        for worker in workers {
            worker.loop.deliver(after: time) { [weak worker] in worker?.readControls() }
        }
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

/// The random bits of one worker process. Used by the world's thread only.
final class SharedDice: @unchecked Sendable {
    private var dice: Dice

    init(_ dice: Dice) {
        self.dice = dice
    }

    func next() -> UInt64 { dice.next() }
}
