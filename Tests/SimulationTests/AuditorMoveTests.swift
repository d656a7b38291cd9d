import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// The auditor notices when a rule about quotas of the urgent lane is broken: each test breaks one.
@Suite struct AuditorMoveTests {
    private typealias Bench = MoveBench

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

    @Test("Invariant 1 is broken by a copy with other headers than its record, or for a partition by its number")
    func headers() throws {
        for hasOtherHeaders in [true, false] {
            let bench = try Bench()
            bench.auditor.noteReading(0, by: bench.worker.consumer)
            var record = bench.publication()
            if hasOtherHeaders {
                record.headers.append((RecordContentType.headerName, Array("application/json".utf8)))
            } else {
                record.partition = 0
            }
            _ = bench.auditor.moving(record)
            #expect(bench.broken == 1)
        }
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

    @Test("A copy may be a duplicate while its worker has an earlier one under way, and of no other copy")
    func twinUnderWay() throws {
        enum Earlier: CaseIterable { case underWay, settledBefore, unread, readByAnother, isTheLater }
        for earlier in Earlier.allCases {
            let bench = try Bench(hasBrokenProducer: true)
            bench.move()
            bench.move()
            let (sent, refused) = earlier == .isTheLater ? (1, 0) : (0, 1)
            let reader = earlier == .readByAnother ? bench.worker : bench.other
            if earlier != .unread { bench.auditor.fetched(bench.copied + sent, by: reader.consumer) }
            if earlier == .settledBefore {
                let number = bench.auditor.firstOf[bench.copied + sent]
                bench.auditor.notifications[number].outcomeAt = bench.world.clock.now
                bench.auditor.notifications[number].outcomeBy = bench.other.number
                bench.auditor.notifications[number].decidedAt = bench.world.clock.now
            }
            let outcome = bench.outcome(.duplicate, of: bench.copied + refused)
            bench.auditor.stored(outcome, by: bench.other.number, producedAt: bench.world.clock.now + 1)
            #expect(bench.broken == (earlier == .underWay ? nil : 1), "\(earlier)")
        }
    }

    @Test("Invariant 1 is broken if only failures are published and two copies are passed, the first without an end")
    func twinsPassed() throws {
        for isFirstAccepted in [true, false] {
            let bench = try Bench(hasBrokenProducer: true, publishesAll: false)
            bench.move()
            bench.move()
            for copy in [bench.copied, bench.copied + 1] { bench.auditor.fetched(copy, by: bench.other.consumer) }
            if isFirstAccepted { bench.settle(bench.copied) }
            bench.commit(past: bench.copied + 1, by: bench.other)
            #expect(bench.broken == (isFirstAccepted ? nil : 1))
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
            let headers = hasHeader ? [(Bench.header, Array(place.utf8))] : []
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

    @Test("Invariant 3 is broken if a worker moves a record of a partition that it has given back")
    func givenBack() throws {
        let bench = try Bench()
        bench.auditor.released(bench.worker.consumer, [bench.world.partition(ofRecord: 0)])
        bench.move()
        #expect(bench.broken == 3)
    }

    // MARK: Tokens

    @Test("Invariant 5 is broken if a record that was moved twice goes to a token that died before a copy was read")
    func dead() throws {
        for isDead in [true, false] {
            let bench = try Bench(hasBrokenProducer: true)
            bench.move()
            bench.move()
            let copies = [bench.copied, bench.copied + 1]
            bench.auditor.assigned(bench.other.consumer, bench.world.partition(ofRecord: bench.copied))
            for copy in copies { bench.auditor.fetched(copy, by: bench.other.consumer) }
            if isDead { bench.auditor.tokens[bench.token].deadSince = 1 }
            bench.auditor.accepted(
                record: 0,
                token: bench.token,
                from: bench.other,
                isGivenUp: false,
                writtenAt: bench.world.clock.now
            )
            #expect(bench.broken == (isDead ? 5 : nil))
        }
    }

    @Test("Invariant 5 is broken if the copy of a record that adds to a number arrives, and the number stays")
    func uncountedBadge() throws {
        for hasArrived in [true, false] {
            let bench = try Bench(addsToBadge: true)
            bench.move()
            for number in bench.auditor.firstOf[bench.copied]..<bench.auditor.end(of: bench.copied) {
                bench.auditor.fates[number] = Auditor.Fates(hasArrived: hasArrived, hasFailed: !hasArrived)
            }
            bench.auditor.closeBadges()
            #expect(bench.broken == (hasArrived ? 5 : nil))
        }
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

    @Test("Invariant 11 is broken if a record is moved while the urgent lane is paused, not the normal one")
    func movedWhilePaused() throws {
        for isUrgent in [true, false] {
            let bench = try Bench { world in
                let name = world.leverName(ofTopic: world.plan.records[0].topic)
                world.controls.set(.pause, of: name, in: isUrgent ? .urgent : .normal, .pause)
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
}
