import APNsProtocol
import Testing

@testable import PipelineCore

/// Opening, growing, shrinking and replacing connections.
@Suite struct StreamPoolTests {
    // MARK: The first

    @Test("A connection is opened when a request waits, one attempt at a time")
    func first() {
        let probe = PoolProbe()
        #expect(probe.wanted == nil)
        #expect(probe.send().isEmpty)
        probe.wait()
        #expect(probe.wanted == .first)
        let number = probe.pool.connecting(now: probe.now)
        #expect(probe.wanted == nil && probe.isConnecting(number))
        probe.pool.opened(number, streams: 10, now: probe.now, random: 0)
        #expect(probe.phase(number) == .open && probe.send() == [number])
    }

    @Test("A connection that ended is replaced; the next attempt after a failure comes after growing waits")
    func failures() {
        let probe = PoolProbe()
        probe.wait()
        for failures in 1...8 {
            #expect(probe.wanted == (failures == 1 ? .first : .reconnect))
            let number = probe.pool.connecting(now: probe.now)
            _ = probe.pool.ended(number, .failed, now: probe.now, random: .max)
            let wait = Duration.seconds(min(60, 1 << (failures - 1)))
            #expect(probe.wanted == nil)
            probe.pass(wait)
        }
        probe.answer(probe.open(), .accepted, 0)
        let number = probe.numbers[0]
        probe.send()
        probe.answer(number)
        probe.end(number)
        #expect(probe.wanted == nil)
        probe.pass(.seconds(1))
        #expect(probe.wanted == .reconnect, "an answer in between: the first failure again")
    }

    @Test("After a silent end for which the topics on it go apart, the others wait shortly, however many failures")
    func separated() {
        for (sharers, end, waitsLong) in [
            (0, .failed, true), (9, .failed, true), (1, .failed, false), (8, .failed, false), (1, .peerDead, true),
        ] as [(Int, ConnectionEnd, Bool)] {
            let probe = PoolProbe()
            probe.wait()
            for _ in 1...3 {
                probe.end(probe.pool.connecting(now: probe.now))
                probe.pass(.seconds(60))
            }
            _ = probe.pool.ended(probe.open(), end, sharers: sharers, now: probe.now, random: .max)
            probe.pass(.milliseconds(999))
            #expect(probe.wanted == nil)
            probe.pass(.milliseconds(1001))
            #expect((probe.wanted == nil) == waitsLong, "\(sharers) topics, \(end)")
        }
    }

    @Test("A silent end does not shorten the wait for a refused credential")
    func separatedBesideRefusal() {
        let probe = PoolProbe()
        probe.wait()
        let works = probe.open()
        probe.end(probe.pool.connecting(now: probe.now), .certificateRefused)
        _ = probe.pool.ended(works, .failed, sharers: 1, now: probe.now, random: 0)
        probe.pass(.seconds(29))
        #expect(probe.wanted == nil)
        probe.pass(.seconds(1))
        #expect(probe.wanted == .reconnect)
    }

    @Test("Connections that end before they are of any use count as failures, however they end")
    func useless() {
        for isGoodbye in [false, true] {
            let probe = PoolProbe()
            probe.wait()
            for failures in 1...5 {
                let number = probe.open()
                if isGoodbye {
                    #expect(probe.goAway(number) == nil)
                    #expect(probe.steps() == [.end(number, .closedHere)])
                } else {
                    probe.end(number)
                }
                #expect(probe.wanted == nil && probe.pool.failures == failures)
                probe.pass(.seconds(60))
                #expect(probe.wanted == .reconnect)
            }
        }
    }

    @Test("The budget postpones an attempt, which is no failure")
    func budget() {
        let probe = PoolProbe()
        probe.wait()
        probe.pool.postpone(until: probe.now + .seconds(5))
        #expect(probe.wanted == nil && probe.isWaitingForBudget)
        probe.pass(.seconds(5))
        #expect(probe.wanted == .first)
        probe.open()
        #expect(!probe.isWaitingForBudget)
    }

    @Test("A pool waits while it has no connection and may open none yet")
    func waiting() {
        let probe = PoolProbe()
        func isWaiting() -> Bool { probe.pool.isWaiting(now: probe.now) }
        #expect(!isWaiting())
        probe.pool.postpone(until: probe.now + .seconds(5))
        #expect(isWaiting())
        probe.pass(.seconds(5))
        #expect(!isWaiting())
        probe.open()
        probe.pool.postpone(until: probe.now + .seconds(5))
        #expect(!isWaiting(), "it has one")
    }

    @Test("A refused certificate waits for long, unless the breaker lets a probe go")
    func certificateRefused() {
        let probe = PoolProbe()
        probe.wait()
        let number = probe.pool.connecting(now: probe.now)
        let loss = probe.end(number, .certificateRefused)
        #expect(loss?.isUnread == true && loss?.isSilent == false)
        probe.pass(.seconds(29))
        #expect(probe.wanted == nil)
        probe.pool.gatewayAnswers(now: probe.now)
        #expect(probe.wanted == nil)
        probe.pool.retryCredential()
        #expect(probe.wanted == .reconnect)
    }

    @Test("A probe, or another credential, follows a refused certificate by the floor of the back-off at the earliest")
    func floorAfterRefusal() {
        for renews in [false, true] {
            let probe = PoolProbe()
            probe.wait()
            probe.end(probe.pool.connecting(now: probe.now), .certificateRefused)
            if renews { probe.setEdition(1) } else { probe.pool.retryCredential() }
            probe.pass(.seconds(1) - .nanoseconds(1))
            #expect(probe.wanted == nil)
            probe.pass(.nanoseconds(1))
            #expect(probe.wanted == .reconnect)
        }
    }

    @Test("A host that speaks another protocol has read nothing: no request is suspected, and the wait is a gateway's")
    func foreignProtocol() {
        let probe = PoolProbe()
        probe.wait()
        let number = probe.open()
        let loss = probe.end(number, .foreignProtocol)
        #expect(loss?.isUnread == true && loss?.isSilent == false)
        #expect(probe.wanted == nil)
        probe.pass(.seconds(60))
        #expect(probe.wanted == .reconnect)
    }

    @Test("The wait after a failed attempt is shortened when the gateway answers another credential")
    func gatewayAnswers() {
        let probe = PoolProbe()
        probe.wait()
        for _ in 0..<8 {
            _ = probe.pool.ended(probe.pool.connecting(now: probe.now), .failed, now: probe.now, random: .max)
        }
        probe.pool.gatewayAnswers(now: probe.now)
        probe.pass(.seconds(1))
        #expect(probe.wanted == .reconnect)
    }

    @Test("An attempt that is not wanted any more is told so")
    func unwanted() {
        let probe = PoolProbe()
        let number = probe.pool.connecting(now: probe.now)
        probe.end(number, .closedHere)
        #expect(!probe.isConnecting(number))
        #expect(probe.end(number) == nil)
    }

    // MARK: Growing

    @Test("Connections grow while requests wait for streams, seconds apart, up to the limit")
    func growth() {
        let probe = PoolProbe(connections: 3)
        probe.wait()
        probe.open(streams: 1)
        var openings: [MonotonicTime] = [probe.now]
        for _ in 0..<200 {
            probe.pass(.milliseconds(100))
            probe.send(1000)
            probe.wait()
            if let purpose = probe.wanted {
                #expect(purpose == .first)
                openings.append(probe.now)
                probe.open(streams: 1)
            }
        }
        let gaps = zip(openings, openings.dropFirst()).map { $0.elapsed(until: $1) }
        #expect(gaps == [.seconds(2), .seconds(2)])
    }

    @Test("Requests that find streams in time make no connection")
    func noGrowth() {
        let probe = PoolProbe()
        probe.wait()
        probe.open(streams: 1)
        for _ in 0..<100 {
            probe.pass(.milliseconds(900))
            probe.wait(false)
            probe.pass(.milliseconds(100))
            probe.wait()
            #expect(probe.wanted == nil)
        }
    }

    @Test("A connection opened again where there were as many before is charged")
    func regrowth() {
        let probe = PoolProbe()
        probe.wait()
        let number = probe.open(streams: 1)
        probe.open(streams: 1)
        probe.end(number, .closedHere)
        probe.pass(.seconds(5))
        #expect(probe.wanted == .successor)
    }

    // MARK: Shrinking

    @Test("One connection less when fewer would have done for a minute; the oldest drains")
    func shrinking() {
        let probe = PoolProbe()
        let numbers = (0..<3).map { _ in probe.open(streams: 100) }
        for _ in 0..<59 {
            probe.pass(.seconds(1))
            for number in probe.send(90) { probe.answer(number) }
            #expect(probe.steps().isEmpty)
        }
        probe.pass(.seconds(1))
        #expect(probe.steps() == [.end(numbers[0], .closedHere)])
        #expect(probe.openCount == 2)
    }

    @Test("No connection is spared that is needed: for its streams, for its window, or because requests waited")
    func needed() {
        for need in 0..<3 {
            let probe = PoolProbe()
            let numbers = (0..<2).map { _ in probe.open(streams: 100) }
            for _ in 0..<40 {
                probe.pass(.seconds(5))
                for number in numbers { probe.pool.heard(number, now: probe.now) }
                let sent = probe.send(need == 0 ? 60 : 1)
                if need == 1 { probe.pool.stalled(numbers[0], true, now: probe.now) }
                if need == 1 { probe.pool.stalled(numbers[0], false, now: probe.now) }
                if need == 2 { probe.wait() }
                for number in sent { probe.answer(number) }
                if need == 2 { probe.wait(false) }
                _ = probe.steps()
            }
            #expect(probe.openCount == 2, "need \(need)")
        }
    }

    @Test("A pool that grows again soon after it shrank is more patient the next time")
    func patience() {
        let probe = PoolProbe(connections: 2)
        var spans: [Duration] = []
        probe.open(streams: 1)
        for _ in 0..<4 {
            probe.pass(.seconds(2))
            spans.append(timeToShrink(probe))
        }
        #expect(spans == [.seconds(60), .seconds(120), .seconds(240), .seconds(480)])
    }

    @Test("A pool that grows again after its patience is over is as patient as at first")
    func patienceIsOver() {
        let probe = PoolProbe(connections: 2)
        var spans: [Duration] = []
        probe.open(streams: 1)
        for _ in 0..<3 {
            spans.append(timeToShrink(probe))
            probe.pass(.seconds(60))
        }
        #expect(spans == [.seconds(60), .seconds(60), .seconds(60)])
    }

    /// Opens a second connection; returns the time until there is one again.
    private func timeToShrink(_ probe: PoolProbe) -> Duration {
        probe.open(streams: 1)
        let opened = probe.now
        while probe.openCount == 2, opened.elapsed(until: probe.now) < .seconds(1000) {
            probe.pass(.seconds(1))
            for number in probe.numbers { probe.pool.heard(number, now: probe.now) }
            _ = probe.steps()
        }
        return opened.elapsed(until: probe.now)
    }

    // MARK: Age

    @Test("An old connection gets a successor first, then drains, and ends when all is answered")
    func rotation() {
        let probe = PoolProbe(connections: 1, connectionMaxAge: .seconds(100))
        let old = probe.open()
        probe.send(2)
        probe.pass(.seconds(99))
        probe.pool.heard(old, now: probe.now)
        #expect(probe.wanted == nil)
        probe.pass(.seconds(1))
        #expect(probe.wanted == .successor)
        let new = probe.open()
        #expect(probe.phase(old) == .draining && probe.send() == [new])
        probe.answer(old)
        #expect(probe.steps().isEmpty)
        probe.answer(old)
        #expect(probe.steps() == [.end(old, .closedHere)])
    }

    @Test("Ages differ by up to a quarter; an old connection without work needs no successor")
    func jitter() {
        let probe = PoolProbe(connectionMaxAge: .seconds(100))
        let number = probe.open(random: .max)
        probe.send()
        probe.pass(.seconds(76))
        #expect(probe.wanted == .successor)
        probe.answer(number)
        #expect(probe.wanted == nil)
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    @Test("A successor that fails waits for its back-off; the old connection goes on")
    func successorFails() {
        let probe = PoolProbe(connections: 1, connectionMaxAge: .seconds(100))
        let old = probe.open()
        probe.send()
        probe.pass(.seconds(100))
        probe.end(probe.pool.connecting(now: probe.now))
        probe.pool.heard(old, now: probe.now)
        #expect(probe.wanted == nil && probe.send() == [old])
        probe.pass(.seconds(2))
        #expect(probe.wanted == .successor)
    }

    @Test("With another credential all connections drain at once, and new ones come")
    func renew() {
        let probe = PoolProbe()
        let numbers = [probe.open(), probe.open()]
        let busy = probe.send(1)
        probe.pool.renew()
        #expect(probe.send().isEmpty)
        probe.wait()
        #expect(probe.wanted == .reconnect)
        #expect(probe.steps() == [.end(numbers.first { !busy.contains($0) } ?? 0, .closedHere)])
        probe.answer(busy[0])
        #expect(probe.steps().count == 1 && probe.isEmpty)
    }
}
