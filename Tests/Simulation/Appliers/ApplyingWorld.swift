@testable import KafkaClient

/// Appliers of push.registrations, push.feedback and push.tombstones with everything around them, on one thread under
/// one clock: the real ones on a simulated broker with its groups, and a simulated Redis. Every choice comes from the
/// plan's seed.
///
/// A world has three parts: records and faults as planned; calm, until everything is settled; then some process ends
/// for good, and the processes that are left have to go on with new records.
final class ApplyingWorld {
    /// The result of a world.
    struct Report: Equatable {
        /// The first rule that was broken.
        var violation: ApplyingAuditor.Violation?
        var hash: UInt64
        var events: Int
        var story: [String]
    }

    let plan: ApplyingPlan
    let clock = VirtualClock(start: World.start)
    var dice: Dice
    private var trace: Trace
    private(set) var processes: [ApplyingProcess] = []
    private(set) var follower: ApplyingFollower?
    private var numbers = 0
    /// Assignments, revocations and answers to commits that members have heard of.
    private var reports = 0
    private var parts: Parts?
    private var isOver = false

    /// From the end of the last fault until everything must be settled: a session, a rebalance with its patience, a
    /// batch given up and a commit that the broker does not answer, one after the other.
    private static let settling = VirtualTime.seconds(120)
    /// Longest time until the processes that are left have taken over and applied what was published since.
    private static let takingOver = ApplyingGroup.sessionTimeout + .seconds(10)
    /// The last records are published so soon after a process has ended.
    private static let lastRecords = VirtualTime.seconds(3)
    private static let lookEvery = VirtualTime.milliseconds(250)

    /// The parts that refer back to the world.
    private struct Parts {
        var broker: ApplyingBroker
        var redis: ApplyingRedis
        var auditor: ApplyingAuditor
    }

    /// - Parameter tells: the report has a story.
    init(_ plan: ApplyingPlan, tells: Bool = false) {
        self.plan = plan
        dice = Dice(seed: plan.seed, stream: 79)
        trace = Trace(tells: tells)
        parts = Parts(
            broker: ApplyingBroker(world: self),
            redis: ApplyingRedis(world: self),
            auditor: ApplyingAuditor(world: self)
        )
    }

    var options: ApplyingPlan.Options { plan.options }
    var broker: ApplyingBroker { whole.broker }
    var redis: ApplyingRedis { whole.redis }
    var auditor: ApplyingAuditor { whole.auditor }

    private var whole: Parts {
        guard let parts else { preconditionFailure("a world is whole while it lives") }
        return parts
    }

    /// A number that is given once.
    func nextNumber() -> Int {
        numbers += 1
        return numbers
    }

    func note(_ kind: Trace.Kind, _ first: Int, _ second: Int, _ text: @autoclosure () -> String) {
        trace.note(kind, first, second, at: clock.now, text())
    }

    /// Lets the world live to its end, or to the first violation.
    func run() -> Report {
        for slot in 0..<options.processes { start(slot, after: dice.time(0...5000)) }
        if options.hasFollower { clock.after(dice.time(0...20_000)) { [self] in follow() } }
        for record in plan.records { clock.at(World.start + record.time) { [self] in broker.publish(record) } }
        for fault in plan.faults { clock.at(World.start + fault.time) { [self] in inject(fault) } }
        clock.at(World.start + plan.calm) { [self] in
            waitForSettled(.progress, until: clock.now + Self.settling) { [self] in endOne() }
        }
        while !isOver, auditor.violation == nil, clock.step() {}
        if auditor.violation == nil { auditor.checkEnd() }
        let report = Report(
            violation: auditor.violation,
            hash: trace.hash,
            events: trace.events,
            story: trace.story
        )
        dissolve()
        return report
    }

    /// Breaks the circles of world, processes and groups, so that nothing of them stays in memory.
    private func dissolve() {
        clock.clear()
        for process in processes { process.leave() }
        for log in broker.logs { log.group.dissolve() }
        processes = []
        follower = nil
        parts = nil
    }

    /// Looks now and then if everything is settled, and goes on then.
    private func waitForSettled(
        _ rule: ApplyingAuditor.Rule,
        until deadline: VirtualTime,
        _ next: @escaping () -> Void
    ) {
        guard let open = auditor.unsettled() else { return next() }
        guard clock.now < deadline else { return auditor.fail(rule, open) }
        clock.after(Self.lookEvery) { [self] in waitForSettled(rule, until: deadline, next) }
    }

    /// Ends the process that holds most, if others of its kind are left, and publishes a record to every partition.
    private func endOne() {
        let deadline = clock.now + Self.takingOver
        let groups = [ApplyingSource.registrations, .feedback].map { source in
            processes.filter { $0.isRunning && !$0.isStopping && options.slots(of: source).contains($0.slot) }
        }
        let replaceable = groups.filter { $0.count > 1 }
        if !replaceable.isEmpty {
            let group = replaceable[dice.pick(0...replaceable.count - 1)]
            let leaver = group.max { $0.heldCount < $1.heldCount }
            if dice.chance(50) { leaver?.kill() } else { leaver?.stop {} }
        }
        for source in options.sources {
            for partition in broker[source].numbers {
                let record = ApplyingRecord(source, partition, options, &dice)
                clock.after(dice.time(0...Int(Self.lastRecords / .milliseconds(1)))) { [self] in
                    broker.publish(record)
                }
            }
        }
        clock.after(Self.lastRecords) { [self] in
            waitForSettled(.takeOver, until: deadline) { [self] in isOver = true }
        }
    }

    // MARK: Processes

    private func start(_ slot: Int, after delay: VirtualTime) {
        clock.after(delay) { [self] in
            let process = ApplyingProcess(world: self, slot: slot)
            processes.append(process)
            process.start()
        }
    }

    private func follow() {
        let follower = ApplyingFollower(world: self)
        self.follower = follower
        follower.start()
    }

    /// A member is about to hear of an assignment, a revocation or a commit: its process may be told to stop just then.
    func delivers(to member: ApplyingMember) {
        reports += 1
        guard reports == plan.stopsAtReport,
            let process = processes.last(where: { $0.parts.contains { $0.member === member } }), !process.isStopping
        else { return }
        process.stop { [self] in start(process.slot, after: Self.lookEvery) }
    }

    /// The process of a slot that runs now and was not told to stop.
    private func running(_ slot: Int) -> ApplyingProcess? {
        processes.last { $0.slot == slot && $0.isRunning && !$0.isStopping }
    }

    // MARK: Faults

    private func inject(_ fault: ApplyingFault) {
        note(.fault, Int(fault.lasting / .milliseconds(1)), 0, "fault: \(fault.kind)")
        switch fault.kind {
        case .redisAway: redis.goAway(for: fault.lasting)
        case .redisRefuses(let prefix): redis.refuse(with: prefix, for: fault.lasting)
        case .redisSilent(let master): redis.silence(master, for: fault.lasting)
        case .redisFailOver(let master, let lost):
            redis.failOver(master, losing: lost)
            for process in processes where process.isRunning { process.breakRedis() }
        case .redisCut(let slot): running(slot)?.breakRedis()
        case .brokerAway: broker.goAway(for: fault.lasting)
        case .commitsLost: broker.loseCommits(for: fault.lasting)
        case .rebalance(let source): broker[source].group.rebalance()
        case .retention(let source, let partition, let share): broker[source].retain(partition, share: share)
        case .beyondEnd(let source, let partition): broker[source].moveBeyondEnd(partition)
        case .holdUp(let slot): running(slot)?.hold(for: fault.lasting)
        case .kill(let slot, let backAfter):
            guard let process = running(slot) else { return }
            process.kill()
            if let backAfter { start(slot, after: backAfter) }
        case .stop(let slot, let backAfter):
            running(slot)?.stop { [self] in
                if let backAfter { start(slot, after: backAfter) }
            }
        }
    }
}
