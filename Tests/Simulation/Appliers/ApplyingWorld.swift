@testable import KafkaClient

/// Appliers of one Kafka topic with everything around them, on one thread under one clock: real ``RecordApplier``s on
/// a simulated broker, group and Redis. Every choice comes from the seed.
final class ApplyingWorld {
    /// The result of a world.
    struct Report: Equatable {
        /// The first rule that was broken.
        var violation: String?
        var hash: UInt64
        var events: Int
    }

    struct Options {
        var partitions: Int32
        var processes: Int
        var isCooperative: Bool
        var records: Int
    }

    static let topic = "push.registrations"
    /// Faults begin before this time of the world.
    private static let faultsEnd = VirtualTime.seconds(90)
    /// The longest fault.
    private static let longestSeconds = 60
    /// From the end of the last fault until everything must be settled: a session, a rebalance with its patience, a
    /// batch given up and a commit that nobody answers, one after the other.
    private static let settling = VirtualTime.seconds(120)

    let seed: UInt64
    let options: Options
    let clock = VirtualClock(start: World.start)
    var dice: Dice
    let redis = ApplyingRedis()
    private(set) var trace = Trace(tells: false)
    private(set) var processes: [ApplyingProcess] = []
    private var lives = 0
    private var parts: Parts?

    /// The parts that refer back to the world.
    private struct Parts {
        var broker: ApplyingBroker
        var group: ApplyingGroup
        var auditor: ApplyingAuditor
    }

    init(seed: UInt64) {
        self.seed = seed
        var dice = Dice(seed: seed, stream: 77)
        options = Options(
            partitions: Int32(dice.pick(1...3)),
            processes: dice.pick(2...4),
            isCooperative: dice.chance(40),
            records: dice.pick(50...300)
        )
        self.dice = dice
        parts = Parts(
            broker: ApplyingBroker(world: self),
            group: ApplyingGroup(world: self),
            auditor: ApplyingAuditor(world: self)
        )
    }

    var broker: ApplyingBroker { whole.broker }
    var group: ApplyingGroup { whole.group }
    var auditor: ApplyingAuditor { whole.auditor }

    private var whole: Parts {
        guard let parts else { preconditionFailure("a world is whole while it lives") }
        return parts
    }

    func note(_ kind: Trace.Kind, _ first: Int = 0, _ second: Int = 0) {
        trace.note(kind, first, second, at: clock.now, "")
    }

    /// Lets the world live to its end.
    func run() -> Report {
        for slot in 0..<options.processes { start(slot, after: dice.time(0...5000)) }
        for number in 0..<options.records {
            clock.after(dice.time(0...100_000)) { [self] in broker.publish(number) }
        }
        for _ in 0..<dice.pick(3...10) {
            clock.after(dice.time(1000...Int(Self.faultsEnd / .milliseconds(1)))) { [self] in inject() }
        }
        let end = World.start + Self.faultsEnd + .seconds(Self.longestSeconds) + Self.settling
        while clock.now < end, auditor.violation == nil, clock.step() {}
        auditor.checkEnd()
        let report = Report(violation: auditor.violation, hash: trace.hash, events: trace.events)
        clock.clear()
        // The cycle of world and parts ends here.
        processes = []
        parts = nil
        return report
    }

    // MARK: Processes

    private func start(_ slot: Int, after delay: VirtualTime) {
        clock.after(delay) { [self] in
            lives += 1
            let process = ApplyingProcess(world: self, slot: slot, number: lives)
            processes.append(process)
            process.start()
        }
    }

    /// The process of a slot that runs now.
    private func running(_ slot: Int) -> ApplyingProcess? {
        processes.last { $0.slot == slot && $0.isRunning }
    }

    /// Slot 0 always comes back, so that somebody is there in the end; others may not.
    private func comesBack(_ slot: Int) -> Bool { slot == 0 || dice.chance(60) }

    // MARK: Faults

    private func inject() {
        let seconds = dice.pick(1...Self.longestSeconds)
        let time = VirtualTime.seconds(seconds)
        let slot = dice.pick(0...options.processes - 1)
        let partition = Int32(dice.pick(0...Int(options.partitions) - 1))
        let kind = dice.pick(0...8)
        note(.fault, kind, slot)
        switch kind {
        case 0: redis.awayUntil = max(redis.awayUntil, clock.now + time)
        case 1: broker.awayUntil = max(broker.awayUntil, clock.now + time)
        case 2: broker.loseCommits(for: time)
        case 3: broker.retain(partition)
        case 4: broker.moveBeyondEnd(partition)
        case 5: running(slot)?.hold(for: .seconds(min(seconds, 20)))
        case 6: running(slot)?.breakRedis()
        case 7:
            guard let process = running(slot), !process.isStopping else { return }
            process.kill()
            if comesBack(slot) { start(slot, after: dice.time(100...20_000)) }
        default:
            guard let process = running(slot), !process.isStopping else { return }
            let isBack = comesBack(slot)
            let delay = dice.time(0...20_000)
            process.stop { [self] in
                if isBack { start(slot, after: delay) }
            }
        }
    }
}
