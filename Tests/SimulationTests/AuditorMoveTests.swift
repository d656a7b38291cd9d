import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// The auditor notices when a rule about quotas of the urgent lane is broken: each test breaks one.
@Suite struct AuditorMoveTests {
    private static let header = "belfry-moved-from"

    /// A world whose worker has read the first of two records to the same tokens, which is urgent. The other is not.
    private struct Bench {
        let world: World
        let worker: SimulatedWorker
        let other: SimulatedWorker

        /// - Parameters:
        ///   - quota: of the app; nil: it has none.
        ///   - prepare: is called before the worker starts.
        init(quota: Int? = 0, hasBrokenProducer: Bool = false, _ prepare: (World) -> Void = { _ in }) throws {
            var plan = WorldPlan(seed: 1, features: [])
            plan.options.requestLanes = [.urgent, .normal]
            plan.options.servedLanes = [plan.options.requestLanes]
            plan.options.publishesAll = true
            plan.options.isPunctual = true
            plan.options.policy = .resend
            plan.options.coalescingKeys = 0
            plan.faults = hasBrokenProducer ? [Fault(.producerBroken, at: .seconds(1))] : []
            var first = plan.records[0]
            first.coalescingKey = 0
            first.backdated = 0
            first.lane = .urgent
            var second = first
            second.time += .seconds(1)
            second.lane = .normal
            plan.records = [first, second]
            if let quota { plan.options.quotas = [first.topic: quota] }
            let made = World(plan)
            prepare(made)
            made.startWorker(slot: 0)
            made.publish(0)
            let process = made.processes[0]
            let urgent = try #require(process.worker(of: .urgent))
            let normal = try #require(process.worker(of: .normal))
            made.auditor.assigned(urgent.consumer, made.partition(ofRecord: 0))
            world = made
            worker = urgent
            other = normal
        }

        var auditor: Auditor { world.auditor }
        /// The record that a move makes.
        var copied: Int { world.plan.records.count }
        var broken: Int? { auditor.violation?.invariant }
        var token: Int { auditor.notifications[0].token }

        /// The first record as its worker moves it.
        ///
        /// - Parameter origin: the place that it names; nil: the right one.
        func publication(from origin: String? = nil) -> Published {
            let original = world.broker.partitions[Int(world.partition(ofRecord: 0))][0].record
            let text = origin ?? auditor.place(ofRecord: 0)
            return Published(
                topic: World.requests,
                partition: nil,
                key: original.key ?? [],
                value: original.value ?? [],
                headers: [(AuditorMoveTests.header, Array(text.utf8))],
                worker: worker.number,
                time: world.clock.now
            )
        }

        /// The worker reads the first record, and moves it.
        func move() {
            auditor.noteReading(0, by: worker.consumer)
            var record = publication()
            record.ownedSince = auditor.moving(record)
            _ = world.published(record)
        }

        /// A worker commits a position behind a record.
        func commit(past record: Int, by worker: SimulatedWorker) {
            let partition = world.partition(ofRecord: record)
            let place = world.laneMap.place(of: partition)
            let position = KafkaPartitionOffset(
                topic: place.topic,
                partition: place.partition,
                offset: (world.offset(ofRecord: record) ?? 0) + 1,
                metadata: ""
            )
            auditor.assigned(worker.consumer, partition)
            auditor.committed(position, meaning: position, by: worker.consumer)
        }

        func settle(_ record: Int) {
            for number in auditor.firstOf[record]..<auditor.end(of: record) {
                auditor.notifications[number].outcomeAt = world.clock.now
            }
        }

        /// An outcome of a record's first token.
        func outcome(_ kind: PushOutcomeKind, of record: Int) -> PushOutcome {
            let place = world.laneMap.place(of: world.partition(ofRecord: record))
            var outcome = PushOutcome()
            outcome.sourceTopic = place.topic
            outcome.sourcePartition = place.partition
            outcome.sourceOffset = world.offset(ofRecord: record) ?? -1
            outcome.kind = kind
            return outcome
        }
    }

    // MARK: Nothing is lost

    @Test("Invariant 1 is broken if an urgent record is passed that was neither sent nor moved")
    func lost() throws {
        for isMoved in [true, false] {
            let bench = try Bench()
            if isMoved { bench.move() }
            bench.commit(past: 0, by: bench.worker)
            #expect(bench.broken == (isMoved ? nil : 1))
        }
    }

    @Test("Invariant 1 is broken if the copy of a moved record is passed without its outcomes")
    func lostCopy() throws {
        for isDone in [true, false] {
            let bench = try Bench()
            bench.move()
            if isDone { bench.settle(bench.copied) }
            bench.commit(past: bench.copied, by: bench.other)
            #expect(bench.broken == (isDone ? nil : 1))
        }
    }

    @Test("Invariant 1 is broken if a copy has no outcome in the end; the record that was moved needs none")
    func left() throws {
        for isDone in [true, false] {
            let bench = try Bench()
            bench.move()
            bench.settle(1)
            if isDone { bench.settle(bench.copied) }
            for record in [0, bench.copied] {
                let partition = bench.world.partition(ofRecord: record)
                let end = bench.world.broker.end(of: partition)
                bench.world.broker.restoreCommit(.init(offset: end, metadata: ""), of: partition)
            }
            bench.auditor.close()
            #expect(bench.broken == (isDone ? nil : 1))
        }
    }

    @Test("Invariant 1 is broken by a copy that differs from its record, or names none of the urgent lane")
    func astray() throws {
        for place in ["push.requests/0@0", "push.requests.urgent/0@4711", "elsewhere"] {
            let bench = try Bench()
            #expect(bench.auditor.moving(bench.publication(from: place)) == nil)
            #expect(bench.broken == 1)
        }
        let bench = try Bench()
        bench.auditor.noteReading(0, by: bench.worker.consumer)
        var record = bench.publication()
        #expect(bench.auditor.moving(record) != nil && bench.broken == nil)
        record.value.append(0)
        _ = bench.auditor.moving(record)
        #expect(bench.broken == 1)
    }

    @Test("Invariant 1 is broken if a copy is taken for a duplicate, though its request was never sent")
    func falseDuplicate() throws {
        for wasSent in [true, false] {
            let bench = try Bench()
            bench.move()
            bench.auditor.notifications[0].accepted = wasSent ? 1 : 0
            let outcome = bench.outcome(.duplicate, of: bench.copied)
            bench.auditor.stored(outcome, by: bench.other.number, producedAt: World.start)
            #expect(bench.broken == (wasSent ? nil : 1))
        }
    }

    @Test("Invariant 1 is broken by an outcome that does not name the place out of which its record was moved")
    func unnamed() throws {
        for (isCopy, hasHeader, isBroken) in [(true, true, false), (true, false, true), (false, true, true)] {
            let bench = try Bench()
            bench.move()
            let place = bench.auditor.place(ofRecord: 0)
            var outcome = bench.outcome(.rejected, of: isCopy ? bench.copied : 0)
            outcome.warning = "moved (\(place))"
            let headers = hasHeader ? [(Self.header, Array(place.utf8))] : []
            bench.auditor.stored(outcome, by: 1, producedAt: World.start, headers: headers)
            #expect(bench.broken == (isBroken ? 1 : nil))
        }
    }

    @Test("Invariant 1 is broken by a lane that sends what it does not have")
    func otherLane() throws {
        for isMoved in [true, false] {
            let bench = try Bench()
            if isMoved { bench.move() }
            bench.auditor.accepted(
                record: 0,
                token: bench.token,
                from: bench.other,
                isGivenUp: false,
                writtenAt: bench.world.clock.now
            )
            #expect(bench.broken == (isMoved ? nil : 1))
        }
    }

    // MARK: Repetitions

    @Test("Invariant 3 is broken if a worker moves a record twice in one assignment, unless its producer broke")
    func twice() throws {
        for (isReassigned, hasBrokenProducer) in [(false, false), (true, false), (false, true)] {
            let bench = try Bench(hasBrokenProducer: hasBrokenProducer)
            bench.move()
            #expect(bench.broken == nil)
            if isReassigned { bench.auditor.owners[bench.world.partition(ofRecord: 0)]?.since += 1 }
            bench.move()
            #expect(bench.broken == (isReassigned || hasBrokenProducer ? nil : 3))
        }
    }

    @Test("Invariant 3 is broken if a record is moved that was done when the worker got the partition, or since")
    func done() throws {
        let before = try Bench()
        let offset = before.world.offset(ofRecord: 0) ?? 0
        before.auditor.owners[before.world.partition(ofRecord: 0)]?.done?.offset = offset + 1
        before.move()
        #expect(before.broken == 3)

        for isOwn in [true, false] {
            let bench = try Bench()
            bench.auditor.notifications[0].outcomeAt = bench.world.clock.now
            bench.auditor.notifications[0].outcomeBy = isOwn ? bench.worker.number : 100
            bench.auditor.notifications[0].decidedAt = bench.world.clock.now
            bench.move()
            #expect(bench.broken == (isOwn ? 3 : nil))
        }
    }

    @Test("Invariant 3 is broken if a worker that knows it is fenced off moves a record")
    func fenced() throws {
        let bench = try Bench()
        bench.auditor.fenced(bench.worker.consumer)
        bench.move()
        #expect(bench.broken == 3)
    }

    // MARK: Order and levers

    @Test("Invariant 4 is broken if what was published to the normal lane behind a copy overtakes it")
    func order() throws {
        for isBehind in [true, false] {
            let bench = try Bench()
            if !isBehind { bench.world.publish(1) }
            bench.move()
            if isBehind { bench.world.publish(1) }
            bench.auditor.noteOrder(of: bench.auditor.firstOf[1], token: bench.token, wasAccepted: false)
            bench.auditor.noteOrder(of: bench.auditor.firstOf[bench.copied], token: bench.token, wasAccepted: false)
            #expect(bench.broken == (isBehind ? 4 : nil))
        }
    }

    @Test("Invariant 11 is broken if a record is moved that an operator has discarded")
    func discarded() throws {
        for isUrgent in [true, false] {
            let bench = try Bench { world in
                let place = world.laneMap.place(of: world.partition(ofRecord: 0)).partition
                let order = AppControl.Discard(publishedBefore: .max, ends: [place: Int64.max])
                let name = world.leverName(ofTopic: world.plan.records[0].topic)
                world.controls.set(.discard, of: name, in: isUrgent ? .urgent : .normal, .discard(order))
            }
            bench.move()
            #expect(bench.broken == (isUrgent ? 11 : nil))
        }
    }

    @Test("Invariant 11 is broken by a copy that is sent while the normal lane is paused, not the urgent one")
    func paused() throws {
        for isUrgent in [true, false] {
            let bench = try Bench()
            bench.move()
            var controls = AppControls()
            let name = bench.world.leverName(ofTopic: bench.world.plan.records[0].topic)
            controls.set(.pause, of: name, in: isUrgent ? .urgent : .normal, .pause)
            bench.auditor.checkLevers(controls, record: 0, token: bench.token, in: .normal)
            #expect(bench.broken == (isUrgent ? nil : 11))
        }
    }

    // MARK: Quotas

    @Test("Invariant 12 is broken if a record of an app without a quota is moved, or one that is within it")
    func withinQuota() throws {
        let without = try Bench(quota: nil)
        without.move()
        #expect(without.broken == 12)

        let tokens = without.world.plan.records[0].tokens.count
        let within = try Bench(quota: tokens)
        within.move()
        #expect(within.broken == 12)

        let over = try Bench(quota: tokens - 1)
        over.move()
        #expect(over.broken == nil)
    }

    @Test("What was moved once counts no more towards what a worker has read")
    func moved() throws {
        let bench = try Bench()
        bench.move()
        _ = bench.auditor.moving(bench.publication())
        #expect(bench.broken == 12)
    }
}
