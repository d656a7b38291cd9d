import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// The auditor notices when a rule is broken: each test breaks one.
@Suite struct AuditorTests {
    /// A plan whose worlds publish every outcome and in which silence can be trusted.
    ///
    /// - Parameter coalescingKey: of all records; 0: none.
    private static func plan(coalescingKey: Int = 0) -> WorldPlan {
        var plan = WorldPlan(seed: 1, features: [])
        plan.options.coalescingKeys = coalescingKey
        for index in plan.records.indices {
            plan.records[index].coalescingKey = coalescingKey
            plan.records[index].backdated = 0
        }
        plan.options.publishesAll = true
        plan.options.isPunctual = true
        plan.options.policy = .resend
        plan.faults = []
        return plan
    }

    private let world = World(Self.plan())
    private var auditor: Auditor { world.auditor }
    private var partition: Int32 { world.partition(ofRecord: 0) }

    private func outcome(_ kind: PushOutcomeKind, token: Int = 0) -> PushOutcome {
        outcome(kind, token: token, in: world)
    }

    private func outcome(_ kind: PushOutcomeKind, token: Int = 0, in world: World) -> PushOutcome {
        var outcome = PushOutcome()
        outcome.sourceTopic = World.requests
        outcome.sourcePartition = world.partition(ofRecord: 0)
        outcome.sourceOffset = world.offset(ofRecord: 0) ?? -1
        outcome.tokenIndex = UInt32(token)
        outcome.kind = kind
        return outcome
    }

    private func worker() -> SimulatedWorker { world.makeWorker() }

    private func commit(_ offset: Int64, _ metadata: String = "") {
        let position = KafkaPartitionOffset(
            topic: World.requests,
            partition: partition,
            offset: offset,
            metadata: metadata
        )
        let consumer = worker().consumer
        auditor.assigned(consumer, partition)
        auditor.committed(position, meaning: position, by: consumer)
    }

    @Test("Invariant 1 is broken if an offset is committed though a notification before it has no outcome")
    func loss() {
        world.publish(0)
        commit(0)
        #expect(auditor.violation == nil)
        commit((world.offset(ofRecord: 0) ?? 0) + 1)
        #expect(auditor.violation?.invariant == 1)
    }

    @Test("Invariant 1 is broken if a notification is marked as done though it has no outcome")
    func markedLoss() {
        world.publish(0)
        let offset = world.offset(ofRecord: 0) ?? 0
        var done = DoneRanges()
        done.append(DoneRanges.Position(offset: offset, token: 0)..<DoneRanges.Position(offset: offset, token: 1))
        let topic = world.topic(of: 0)
        let position = PositionMetadata.choose([(topic, offset)], liveNext: offset + 1, limitBytes: 4096) { _, _ in done
        }
        commit(position.offset, position.metadata)
        #expect(auditor.violation?.invariant == 1)
    }

    @Test("Invariant 1 is broken if notifications are left without an outcome at the end")
    func left() {
        world.publish(0)
        auditor.close()
        #expect(auditor.violation?.invariant == 1)
    }

    @Test(
        "Invariant 2 is broken by a confirmed or presumed notification that no gateway has accepted",
        arguments: [PushOutcomeKind.confirmed, .presumed]
    )
    func untrue(kind: PushOutcomeKind) {
        world.publish(0)
        auditor.notifications[0].accepted = 1
        auditor.stored(outcome(kind), by: 1, producedAt: World.start)
        #expect(auditor.violation == nil)
        auditor.notifications[0].accepted = 0
        auditor.stored(outcome(kind), by: 1, producedAt: World.start)
        #expect(auditor.violation?.invariant == 2)
    }

    @Test("Invariant 3 is broken if a notification that was done when a worker got the partition is sent again")
    func repeated() {
        world.publish(0)
        auditor.assigned(worker().consumer, partition)
        guard var owner = auditor.owners[partition] else { return #expect(Bool(false), "the partition has an owner") }
        auditor.checkRepetition(of: 0, by: owner, writtenAt: world.clock.now, worker: 1)
        #expect(auditor.violation == nil)
        owner.done?.offset = (world.offset(ofRecord: 0) ?? 0) + 1
        auditor.checkRepetition(of: 0, by: owner, writtenAt: world.clock.now, worker: 1)
        #expect(auditor.violation?.invariant == 3)
    }

    /// The next notification to the token of the first.
    private func second(in world: World) throws -> Int {
        let all = world.auditor.notifications
        return try #require(all.indices.dropFirst().first { all[$0].token == all[0].token })
    }

    @Test("Invariant 1 is broken if a notification is superseded, though nothing newer of its key was published")
    func unfoundedSuperseding() throws {
        let keyed = World(Self.plan(coalescingKey: 1))
        let newer = keyed.auditor.notifications[try second(in: keyed)].record
        for record in 0...newer { keyed.publish(record) }
        keyed.auditor.stored(outcome(.superseded, in: keyed), by: 1, producedAt: World.start)
        #expect(keyed.auditor.violation == nil)

        let early = World(Self.plan(coalescingKey: 1))
        early.publish(0)
        early.auditor.stored(outcome(.superseded, in: early), by: 1, producedAt: World.start)
        #expect(early.auditor.violation?.invariant == 1)
    }

    @Test(
        "Invariant 4 is broken if the last accepted, of one coalescing key or without one, is not the newest",
        arguments: [0, 1]
    )
    func last(coalescingKey: Int) throws {
        let world = World(Self.plan(coalescingKey: coalescingKey))
        let auditor = world.auditor
        let token = auditor.notifications[0].token
        auditor.noteOrder(of: 0, token: token, wasAccepted: false)
        auditor.noteOrder(of: try second(in: world), token: token, wasAccepted: false)
        auditor.closeOrder()
        #expect(auditor.violation == nil)
        auditor.noteOrder(of: 0, token: token, wasAccepted: true)
        auditor.closeOrder()
        #expect(auditor.violation?.invariant == 4)
    }

    @Test(
        "An older one that goes again, given up for too many ends without an answer, is no fault",
        arguments: [World.loneCloses - 1, World.loneCloses]
    )
    func givenUpUnanswered(ends: Int) throws {
        let first = auditor.notifications[0]
        let gateway = world.gateways[World.place(ofToken: first.token).topic]
        gateway.resetsStreamsUntil = .max
        for _ in 0..<ends { _ = gateway.fate(record: first.record, token: first.token, edition: nil) }
        auditor.noteOrder(of: 0, token: first.token, wasAccepted: true)
        auditor.noteOrder(of: try second(in: world), token: first.token, wasAccepted: false)
        auditor.noteOrder(of: 0, token: first.token, wasAccepted: true)
        auditor.closeOrder()
        #expect((auditor.violation == nil) == (ends == World.loneCloses))
    }

    @Test(
        "An older one that is read again, first read while its token was dead, is no fault",
        arguments: [false, true]
    )
    func readWhileDead(isDead: Bool) throws {
        let token = auditor.notifications[0].token
        if isDead { auditor.refusalRead(token: token) }
        auditor.fetched(0, by: worker().consumer)
        world.clock.after(.seconds(1)) {}
        while world.clock.step() {}
        auditor.registered(World.redisKey(ofToken: token))
        auditor.noteOrder(of: try second(in: world), token: token, wasAccepted: false)
        world.clock.after(.seconds(1)) {}
        while world.clock.step() {}
        auditor.fetched(0, by: worker().consumer)
        auditor.noteOrder(of: 0, token: token, wasAccepted: false)
        #expect(auditor.violation?.invariant == (isDead ? nil : 4))
    }

    @Test("Invariant 4 is broken if a first sending overtakes, unless the older one may have been given up")
    func overtaken() throws {
        for mayBeGivenUp in [false, true] {
            var plan = Self.plan()
            plan.options.certificateGaps = [.init(topic: plan.records[0].topic, from: 0, lasting: .seconds(60))]
            plan.options.certificateGrace = mayBeGivenUp ? 0 : .seconds(3600)
            plan.records[0].time = 0
            let world = World(plan)
            let token = world.auditor.notifications[0].token
            world.auditor.noteOrder(of: try second(in: world), token: token, wasAccepted: false)
            world.auditor.noteOrder(of: 0, token: token, wasAccepted: false)
            #expect(world.auditor.violation?.invariant == (mayBeGivenUp ? nil : 4))
        }
    }

    @Test("Invariant 5 is broken by a tombstone for a token that no gateway refused")
    func unfoundedTombstone() {
        auditor.tombstoned(World.redisKey(ofToken: 3), by: worker())
        #expect(auditor.violation?.invariant == 5)
    }

    @Test("A token is known to be dead when it is in Redis, and with a filter at its age after it was published")
    func knownDeath() {
        let token = 3
        auditor.refused(record: 0, token: token)
        auditor.tombstoned(World.redisKey(ofToken: token), by: worker())
        #expect(!auditor.isKnownDead(token, at: World.start))
        #expect(auditor.isKnownDead(token, at: World.start + 1))

        auditor.options.filterMaxAge = .seconds(2)
        #expect(!auditor.isKnownDead(token, at: World.start + .seconds(60)))
        auditor.tombstonePublished(world.tokens.bytes[token], at: World.unixSeconds(World.start))
        #expect(!auditor.isKnownDead(token, at: World.start + .seconds(2)))
        #expect(auditor.isKnownDead(token, at: World.start + .seconds(3)))

        auditor.registered(World.redisKey(ofToken: token))
        #expect(!auditor.isKnownDead(token, at: World.start + .seconds(60)))
    }

    @Test("Invariant 5 is broken if a living token is called dead")
    func wrongSilence() {
        world.publish(0)
        auditor.fetched(0, by: worker().consumer)
        auditor.tokens[auditor.notifications[0].token].aliveSince = World.start - 1
        auditor.stored(outcome(.tombstoned), by: 1, producedAt: World.start)
        #expect(auditor.violation?.invariant == 5)
    }

    @Test("Invariant 5 is broken if a token is silenced for a refusal that was read before it registered")
    func outlivedRefusal() {
        world.publish(0)
        let token = auditor.notifications[0].token
        auditor.refused(record: 0, token: token)
        world.clock.after(.seconds(1)) {}
        while world.clock.step() {}
        auditor.registered(World.redisKey(ofToken: token))
        auditor.fetched(0, by: worker().consumer)
        auditor.stored(outcome(.tombstoned), by: 1, producedAt: world.clock.now)
        #expect(auditor.violation?.invariant == 5)
    }

    @Test(
        "Invariant 5 is broken by a tombstone that lies ahead, unless the worker's clock and Redis' both do",
        arguments: [(0, 0, 0), (70, 0, 0), (0, 3000, 0), (-70, -3000, 0), (70, 3000, 70), (3000, 70, 70)]
    )
    func tombstoneAhead(worker seconds: Int, redis: Int64, allowed: UInt32) {
        let worker = worker()
        worker.process.jump(seconds: seconds)
        world.redis.skewSeconds = redis
        let now = World.unixSeconds(world.clock.now)
        auditor.dated(now + allowed, by: worker)
        #expect(auditor.violation == nil)
        auditor.dated(now + allowed + 1, by: worker)
        #expect(auditor.violation?.invariant == 5)
    }

    @Test("Invariant 7 is broken by more in flight than allowed")
    func memory() {
        auditor.options.inFlight = 0
        #expect(world.run().violation?.invariant == 7)
    }

    @Test("Invariant 7 is broken if a shard, or a topic, holds more bytes than it may")
    func bytes() {
        var plan = Self.plan()
        // All of it comes at once, and is proven late.
        for index in plan.records.indices { plan.records[index].time = .milliseconds(2000 + index) }
        plan.options.window = .milliseconds(1500)
        plan.options.maxUncommitted = 300
        plan.options.inFlight = 300
        plan.options.memoryBytes = 20_000
        #expect(World(plan).run().violation == nil)

        // The sender has another budget than the one it must keep to.
        plan.options.memoryBytes = 0
        let broken = World(plan)
        broken.auditor.options.memoryBytes = 20_000
        #expect(broken.run().violation?.invariant == 7)
    }

    @Test("Invariant 9 is broken by more connections in a minute than allowed")
    func connections() {
        auditor.options.connectionsPerMinute = 1
        #expect(world.run().violation?.invariant == 9)
    }

    @Test("Invariant 10 is broken by records given up before a certificate's grace is over, or with registered tokens")
    func givenUp() {
        for (hasRegistrations, isEarly) in [(false, false), (false, true), (true, false)] {
            var plan = Self.plan()
            plan.options.certificateGaps = [.init(topic: plan.records[0].topic, from: 0, lasting: .seconds(60))]
            plan.options.hasRegistrations = hasRegistrations
            let world = World(plan)
            world.publish(0)
            var outcome = outcome(.deadLettered, in: world)
            outcome.reason = "bundle-without-certificate"
            let grace = World.start + plan.records[0].time + plan.options.certificateGrace
            world.auditor.stored(outcome, by: 1, producedAt: isEarly ? grace - .milliseconds(100) : grace)
            #expect(world.auditor.violation?.invariant == (hasRegistrations || isEarly ? 10 : nil))
        }
    }

    @Test(
        "Invariant 10 is broken by a tombstone on the word of a gateway that has accepted nothing since",
        arguments: [true, false]
    )
    func wrongTombstone(hasAccepted: Bool) {
        world.publish(0)
        let notification = auditor.notifications[0]
        auditor.refused(record: 0, token: notification.token)
        world.clock.after(.seconds(1)) {}
        while world.clock.step() {}
        let worker = worker()
        if hasAccepted {
            auditor.accepted(
                record: 0,
                token: notification.token,
                from: worker,
                isGivenUp: false,
                writtenAt: world.clock.now
            )
        }
        auditor.tombstoned(World.redisKey(ofToken: notification.token), by: worker)
        #expect(auditor.violation?.invariant == (hasAccepted ? nil : 10))
    }

    @Test("Invariant 10 is broken by tombstones on and on, on the word of a gateway that calls everything invalid")
    func doubt() {
        let worker = worker()
        for token in 0..<40 {
            auditor.refused(record: 0, token: token)
            auditor.tombstoned(World.redisKey(ofToken: token), by: worker)
        }
        #expect(auditor.violation?.invariant == 10)
    }

    @Test("Invariant 7 is broken if a worker produces more in one event than its slices allow")
    func overrunProducer() throws {
        let worker = worker()
        worker.producer.calls = 4 * auditor.options.publicationUnits
        auditor.checkWork(of: worker)
        #expect(auditor.violation == nil)
        worker.producer.calls = 4 * auditor.options.publicationUnits + 1
        auditor.checkWork(of: worker)
        #expect(auditor.violation?.invariant == 7)
    }
}
