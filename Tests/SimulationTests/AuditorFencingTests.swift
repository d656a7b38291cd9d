import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// The auditor notices when commits, the right to send, isolation or dead letters break a rule: each test breaks one.
@Suite struct AuditorFencingTests {
    /// A plan whose worlds publish every outcome, and in which the last topic is sick and nothing else goes wrong.
    private static func plan() -> WorldPlan {
        var plan = WorldPlan(seed: 1, features: [])
        for index in plan.records.indices { plan.records[index].coalescingKey = 0 }
        plan.options.publishesAll = true
        plan.options.metadataBytes = 4096
        plan.options.isIsolated = true
        plan.options.inFlight = 100
        plan.options.connectionMaxAge = 0
        let sick = WorldPlan.plainTopics - 1
        plan.options.sick = [WorldPlan.Sickness(topic: sick, kind: .unreachable, from: 0)]
        plan.records[0].topic = 0
        plan.faults = []
        return plan
    }

    private let world = World(Self.plan())
    private let worker: SimulatedWorker
    private var auditor: Auditor { world.auditor }
    private var partition: Int32 { world.partition(ofRecord: 0) }

    init() {
        worker = world.makeWorker()
        world.publish(0)
        for number in 0..<auditor.end(of: 0) { auditor.notifications[number].outcomeAt = World.start }
    }

    /// Lets time pass in which nothing happens.
    private func wait(_ time: VirtualTime) {
        world.clock.after(time) {}
        while world.clock.step() {}
    }

    private func commit(_ offset: Int64, by member: SimulatedConsumer) {
        let position = KafkaPartitionOffset(topic: World.requests, partition: partition, offset: offset, metadata: "")
        auditor.committed(position, meaning: position, by: member)
    }

    @Test("Invariant 3 is broken if a cursor goes back within one assignment")
    func back() {
        auditor.assigned(worker.consumer, partition)
        let offset = world.offset(ofRecord: 0) ?? 0
        commit(offset, by: worker.consumer)
        commit(offset + 1, by: worker.consumer)
        #expect(auditor.violation == nil)
        commit(offset, by: worker.consumer)
        #expect(auditor.violation?.invariant == 3)
    }

    @Test("Invariant 3 is broken if a worker commits for a partition that another one has")
    func foreign() {
        let other = world.makeWorker(slot: 1, number: 2)
        auditor.assigned(worker.consumer, partition)
        commit(0, by: worker.consumer)
        #expect(auditor.violation == nil)
        commit(0, by: other.consumer)
        #expect(auditor.violation?.invariant == 3)
    }

    @Test("Invariant 3 is broken if a worker that knows it is fenced off sends before it is assigned anew")
    func fenced() {
        auditor.heardAssignment(worker.consumer)
        #expect(auditor.objection(toWritingBy: worker) == nil)
        auditor.fenced(worker.consumer)
        #expect(auditor.objection(toWritingBy: worker) != nil)
        auditor.heardAssignment(worker.consumer)
        #expect(auditor.objection(toWritingBy: worker) == nil)
    }

    @Test("Invariant 3 is broken if a worker sends though a commit is unanswered for too long")
    func unanswered() {
        auditor.commitSent(worker.consumer)
        wait(Auditor.commitPatience)
        #expect(auditor.objection(toWritingBy: worker) == nil)
        wait(.seconds(1))
        #expect(auditor.objection(toWritingBy: worker) != nil)
        auditor.commitAnswered(worker.consumer, nil, sentAt: World.start)
        #expect(auditor.objection(toWritingBy: worker) == nil)
    }

    @Test("Invariant 6 is broken if a notification of a healthy topic comes late beside a sick one")
    func late() {
        wait(world.plan.records[0].time + .seconds(1))
        auditor.checkTime(of: 0)
        #expect(auditor.violation == nil)
        wait(.seconds(60))
        auditor.checkTime(of: 0)
        #expect(auditor.violation?.invariant == 6)
    }

    private func letter(_ reason: String, bytes: Int) -> Published {
        let headers = [
            ("reason", reason), ("source-topic", World.requests), ("source-partition", "\(partition)"),
            ("source-offset", "\(world.offset(ofRecord: 0) ?? -1)"),
        ]
        return Published(
            topic: World.names.deadLetters,
            partition: nil,
            key: [],
            value: Array(repeating: 0, count: bytes),
            headers: headers.map { ($0, Array($1.utf8)) },
            worker: 1,
            time: World.start
        )
    }

    @Test("Invariant 8 is broken if a record has two dead letters for one reason")
    func twice() {
        auditor.assigned(worker.consumer, partition)
        auditor.deadLettered(letter("token-length", bytes: 1))
        auditor.deadLettered(letter("token-outside-shard", bytes: 1))
        #expect(auditor.violation == nil)
        auditor.deadLettered(letter("token-length", bytes: 1))
        #expect(auditor.violation?.invariant == 8)
    }

    @Test("Invariant 8 is broken if the dead letters of a record are larger than twice it")
    func large() {
        auditor.assigned(worker.consumer, partition)
        auditor.deadLettered(letter("token-length", bytes: 1_000_000))
        #expect(auditor.violation?.invariant == 8)
    }

    @Test("Invariant 8 is broken if a dead letter names no record")
    func astray() {
        var astray = letter("token-length", bytes: 1)
        astray.headers.removeLast()
        auditor.deadLettered(astray)
        #expect(auditor.violation?.invariant == 8)
    }
}
