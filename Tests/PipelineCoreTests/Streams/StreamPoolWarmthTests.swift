import Testing

@testable import PipelineCore

/// A pool that keeps a connection open though no request waits.
@Suite struct StreamPoolWarmthTests {
    private func makeProbe(
        connectionMaxAge: Duration? = nil,
        idleTimeout: Duration = .seconds(100)
    ) -> PoolProbe {
        let probe = PoolProbe(connectionMaxAge: connectionMaxAge, idleTimeout: idleTimeout)
        warm(probe)
        return probe
    }

    private func warm(_ probe: PoolProbe) { probe.pool.keepWarm(now: probe.now) }

    /// Lets time pass, and says the wish.
    private func pass(_ duration: Duration, _ probe: PoolProbe) {
        probe.pass(duration)
        warm(probe)
    }

    private func isOnlyWarm(_ number: UInt32, _ probe: PoolProbe) -> Bool {
        probe.pool.isOnlyWarm(number, now: probe.now)
    }

    /// Lets time pass until the wish has lapsed, and the pool notice it.
    private func lapse(_ probe: PoolProbe) {
        probe.pass(WarmConnection.lease)
        #expect(probe.steps().isEmpty && probe.wanted == nil)
    }

    @Test("A connection is wanted without any request while the wish holds, and can wait if it is not the first")
    func wanted() {
        let probe = makeProbe()
        #expect(probe.wanted == .first)
        probe.pass(WarmConnection.lease)
        #expect(probe.wanted == nil)
        warm(probe)
        let number = probe.open()
        #expect(probe.wanted == nil && probe.steps().isEmpty)
        probe.end(number)
        #expect(probe.wanted == nil)
        pass(.seconds(1), probe)
        #expect(probe.wanted == .successor)
        probe.wait()
        #expect(probe.wanted == .reconnect)
    }

    @Test("One connection stays, used or not; others go when they are idle, and the last one when the wish has lapsed")
    func idle() {
        let probe = makeProbe()
        let (first, second) = (probe.open(), probe.open())
        pass(.seconds(1000), probe)
        #expect(probe.steps() == [.end(first, .closedHere)] && probe.numbers == [second])
        pass(.seconds(1000), probe)
        #expect(probe.steps().isEmpty)
        probe.pass(WarmConnection.lease)
        #expect(probe.steps() == [.end(second, .closedHere)] && probe.isEmpty)
    }

    @Test("An old connection without work is replaced by another one, which is there before it ends")
    func old() {
        let probe = makeProbe(connectionMaxAge: .seconds(90))
        let former = probe.open()
        pass(.seconds(90), probe)
        #expect(probe.steps().isEmpty && probe.wanted == .successor)
        let next = probe.open()
        #expect(probe.phase(former) == .draining && probe.wanted == nil)
        #expect(probe.takeRotations() == [.init(connection: former, reason: .age)])
        #expect(probe.steps() == [.end(former, .closedHere)] && probe.numbers == [next])
    }

    @Test("A connection that was idle for long is kept while its successor with another certificate is on trial")
    func trial() {
        for isRefused in [true, false] {
            let probe = PoolProbe(idleTimeout: .seconds(100))
            probe.setEdition(1)
            let former = probe.open()
            pass(.seconds(1000), probe)
            probe.setEdition(2)
            #expect(probe.steps().isEmpty && probe.wanted == .successor)
            let next = probe.open()
            #expect(probe.isOnTrial(next) && probe.steps().isEmpty)
            guard !isRefused else {
                probe.end(next, .certificateRefused)
                #expect(probe.phase(former) == .open && probe.steps().isEmpty)
                continue
            }
            probe.pool.heard(next, now: probe.now)
            pass(ConnectionRotation.trial, probe)
            #expect(probe.steps() == [.end(former, .closedHere)] && probe.numbers == [next])
        }
    }

    @Test("Successors of an idle connection that cannot be opened are tried ever more rarely")
    func successors() {
        let probe = makeProbe(connectionMaxAge: .seconds(90), idleTimeout: .seconds(7200))
        let former = probe.open()
        pass(.seconds(90), probe)
        // The first two come with the least time between two openings.
        for wait in [2, 2, 4, 8, 16] {
            #expect(probe.wanted == .successor)
            let number = probe.pool.connecting(now: probe.now)
            _ = probe.pool.ended(number, .failed, now: probe.now, random: .max)
            pass(Duration.seconds(wait) - .milliseconds(1), probe)
            #expect(probe.wanted == nil && probe.phase(former) == .open)
            pass(.milliseconds(1), probe)
        }
    }

    @Test(
        "After ends in a row the next one waits ever longer, while a request waits a second at most",
        arguments: [false, true]
    )
    func failures(isGoodbye: Bool) {
        let probe = makeProbe()
        for ends in 1...8 {
            let number = probe.open()
            if isGoodbye {
                let extent = probe.pool.goAway(number, reason: nil, isError: false, now: probe.now, random: .max)
                #expect(extent == nil && probe.steps() == [.end(number, .closedHere)])
            } else {
                _ = probe.pool.ended(number, .failed, now: probe.now, random: .max)
            }
            let failures = probe.pool.failures
            #expect(failures == 1)
            pass(Duration.seconds(min(60, 1 << (ends - 1))) - .milliseconds(1), probe)
            #expect(probe.wanted == nil)
            if ends > 1 {
                probe.wait()
                #expect(probe.wanted == .reconnect, "a request")
                probe.wait(false)
            }
            pass(.milliseconds(1), probe)
            #expect(probe.wanted == .successor)
        }
    }

    @Test("An end of a connection without a request counts on, unless it lasted for half of the idle timeout")
    func life() {
        let probe = makeProbe(idleTimeout: .seconds(1000))
        for (life, wait) in [(0, 1), (61, 2), (499, 4), (500, 1)] {
            let number = probe.open()
            pass(.seconds(life), probe)
            _ = probe.pool.ended(number, .failed, now: probe.now, random: .max)
            pass(.seconds(wait) - .milliseconds(1), probe)
            #expect(probe.wanted == nil)
            pass(.milliseconds(1), probe)
            #expect(probe.wanted == .successor)
        }
    }

    @Test("After a refused certificate the next one waits for long, while a request waits a second at most")
    func refusedCertificate() {
        let probe = makeProbe()
        for wait in [30, 60, 60] {
            let number = probe.pool.connecting(now: probe.now)
            _ = probe.pool.ended(number, .certificateRefused, now: probe.now, random: .max)
            pass(.seconds(1), probe)
            #expect(probe.wanted == nil)
            probe.wait()
            #expect(probe.wanted == .reconnect, "a request")
            probe.wait(false)
            pass(.seconds(wait - 1) - .milliseconds(1), probe)
            #expect(probe.wanted == nil)
            pass(.milliseconds(1), probe)
            #expect(probe.wanted == .successor)
        }
    }

    @Test("A certificate refused by GOAWAY is no reason to stop before a request waits")
    func refusedLater() {
        let probe = makeProbe()
        for _ in 0..<3 {
            let number = probe.open()
            #expect(probe.goAway(number, .badCertificateEnvironment) == nil)
            #expect(probe.steps() == [.end(number, .closedHere)])
            pass(.seconds(60), probe)
        }
        probe.wait()
        #expect(probe.goAway(probe.open(), .badCertificateEnvironment) == .topic)
    }

    @Test(
        "A connection begun for warmth stays so when the wish lapses: a request waits a second after its end",
        arguments: [false, true],
        [ConnectionEnd.failed, .certificateRefused]
    )
    func lapsed(isOpen: Bool, end: ConnectionEnd) {
        let probe = makeProbe()
        for _ in 0..<4 {
            warm(probe)
            let number = isOpen ? probe.open() : probe.pool.connecting(now: probe.now)
            lapse(probe)
            #expect(isOnlyWarm(number, probe))
            _ = probe.pool.ended(number, end, now: probe.now, random: .max)
            let failures = probe.pool.failures
            #expect(failures == 1)
            probe.wait()
            #expect(probe.wanted == nil)
            probe.pass(.seconds(1))
            #expect(probe.wanted == .reconnect, "a request")
            probe.wait(false)
            probe.pass(.seconds(60))
        }
    }

    @Test("When the wish has lapsed a connection is not only warm if a request waits, or it was begun for one, or used")
    func lapsedWithWork() {
        let probe = makeProbe()
        let number = probe.open()
        lapse(probe)
        #expect(isOnlyWarm(number, probe))
        probe.wait()
        #expect(!isOnlyWarm(number, probe), "a request waits")
        #expect(probe.send() == [number])
        probe.wait(false)
        #expect(!isOnlyWarm(number, probe), "it is in flight")
        probe.answer(number)
        #expect(!isOnlyWarm(number, probe), "the connection was used")
        probe.end(number, .closedHere)
        for isWarm in [false, true] {
            if isWarm { warm(probe) }
            probe.wait()
            let next = probe.open()
            probe.wait(false)
            #expect(isOnlyWarm(next, probe) == isWarm)
            lapse(probe)
            #expect(!isOnlyWarm(next, probe))
            probe.end(next, .closedHere)
        }
    }

    @Test("A successor of a connection begun for warmth is only warm, too, when the wish has lapsed")
    func lapsedSuccessor() {
        let probe = makeProbe()
        probe.setEdition(1)
        let former = probe.open()
        lapse(probe)
        probe.setEdition(2)
        #expect(probe.wanted == .successor)
        let next = probe.pool.connecting(now: probe.now)
        probe.end(former, .closedHere)
        #expect(isOnlyWarm(next, probe))
    }

    @Test("GOAWAY for the certificate is no reason to stop either when it comes after the wish has lapsed")
    func lapsedBeforeGoodbye() {
        let probe = makeProbe()
        for _ in 0..<3 {
            warm(probe)
            let number = probe.open()
            lapse(probe)
            #expect(probe.goAway(number, .badCertificateEnvironment) == nil)
            let failures = probe.pool.failures
            #expect(failures == 1)
            #expect(probe.steps() == [.end(number, .closedHere)])
            probe.pass(.seconds(60))
        }
        probe.wait()
        #expect(probe.goAway(probe.open(), .badCertificateEnvironment) == .topic)
    }

    @Test("Failures with requests are followed by the usual back-off")
    func withWork() {
        let probe = makeProbe()
        for expected in 1...4 {
            let number = probe.open()
            #expect(probe.send() == [number])
            _ = probe.pool.ended(number, .failed, now: probe.now, random: .max)
            let failures = probe.pool.failures
            #expect(failures == expected)
            pass(.seconds(60), probe)
        }
    }

    @Test("A request does not wait for the turn of a connection that only keeps warm")
    func budget() {
        let probe = makeProbe()
        probe.pool.postpone(until: probe.now + .seconds(3))
        #expect(probe.wanted == nil && !probe.isWaitingForBudget)
        probe.wait()
        #expect(probe.wanted == .first)
        probe.pool.postpone(until: probe.now + .seconds(3))
        #expect(probe.wanted == nil && probe.isWaitingForBudget)
    }

    @Test("When the wish has lapsed a pool waits for the budget like one that was never kept warm")
    func lapsedBudget() {
        let probe = makeProbe()
        lapse(probe)
        probe.pool.postpone(until: probe.now + .seconds(3))
        #expect(probe.isWaitingForBudget)
    }

    @Test(
        "Nor does it wait for the turn of a successor of the idle connection, when that has ended",
        arguments: [1, 2] as [UInt64]
    )
    func budgetOfSuccessor(edition: UInt64) {
        let probe = PoolProbe(connectionMaxAge: .seconds(90))
        probe.setEdition(1)
        let former = probe.open()
        pass(.seconds(90), probe)
        probe.setEdition(edition)
        #expect(probe.wanted == .successor)
        for _ in 0..<2 {
            probe.pool.postpone(until: probe.now + .seconds(60))
            pass(.seconds(59), probe)
            #expect(probe.wanted == nil && !probe.isWaitingForBudget)
            pass(.seconds(1), probe)
            #expect(probe.wanted == .successor)
        }
        probe.pool.postpone(until: probe.now + .seconds(60))
        probe.end(former, .closedHere)
        #expect(probe.wanted == nil)
        probe.wait()
        #expect(probe.wanted == .reconnect)
    }
}
