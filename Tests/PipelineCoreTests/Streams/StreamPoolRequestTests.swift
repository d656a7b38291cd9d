import APNsProtocol
import Testing

@testable import PipelineCore

/// Streams, pings and ends of the connections of a pool.
@Suite struct StreamPoolRequestTests {
    // MARK: Choosing

    @Test("Requests spread over connections in proportion to their limits")
    func spread() {
        let probe = PoolProbe()
        let small = probe.open(streams: 10)
        let large = probe.open(streams: 30)
        probe.send(20)
        #expect(probe.openStreams(small) == 5 && probe.openStreams(large) == 15)
        #expect(probe.send(100).count == 20)
    }

    @Test("A choice is good for a few requests, never for more than fit")
    func room() {
        let probe = PoolProbe()
        probe.open(streams: 20)
        #expect(probe.pool.choose(now: probe.now)?.room == 16)
        probe.send(15)
        #expect(probe.pool.choose(now: probe.now)?.room == 5)
        probe.send(5)
        #expect(probe.pool.choose(now: probe.now) == nil)
    }

    @Test("The peer's SETTINGS hold from the moment they come, whether they fall or rise")
    func settings() {
        let probe = PoolProbe()
        let number = probe.open(streams: 100)
        probe.send(50)
        probe.pool.settings(number, streams: 1)
        #expect(probe.send().isEmpty)
        probe.answer(number, .accepted, 49)
        #expect(probe.send().isEmpty)
        probe.answer(number)
        #expect(probe.send(2).count == 1)
        probe.pool.settings(number, streams: 0)
        probe.answer(number)
        #expect(probe.send().isEmpty)
        probe.pool.settings(number, streams: 100)
        #expect(probe.send(200).count == 100)
    }

    @Test("A connection that allows no stream for long while requests wait is replaced, so that the pool never hangs")
    func useless() {
        let probe = PoolProbe(connections: 1)
        let number = probe.open(streams: 0)
        probe.pass(.seconds(60))
        #expect(probe.send().isEmpty && probe.steps().isEmpty, "no request waits")
        probe.wait()
        probe.pass(.milliseconds(9999))
        probe.pool.heard(number, now: probe.now)
        #expect(probe.steps().isEmpty)
        probe.pass(.milliseconds(1))
        #expect(probe.steps() == [.end(number, .closedHere)])
        #expect(probe.wanted == .reconnect)
    }

    @Test("Requests that give up early, one after the other, get such a connection replaced all the same")
    func uselessToProbes() {
        let probe = PoolProbe(connections: 1)
        let number = probe.open(streams: 0)
        probe.wait()
        probe.pass(.seconds(4))
        #expect(probe.send().isEmpty && probe.steps().isEmpty)
        probe.wait(false)
        probe.pass(.seconds(60))
        #expect(probe.steps().isEmpty, "no request waits")
        probe.wait()
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    @Test("A connection that lets requests on in between is not replaced for it")
    func usefulInBetween() {
        let probe = PoolProbe(connections: 1)
        let number = probe.open(streams: 0)
        probe.wait()
        probe.pass(.seconds(4))
        probe.pool.settings(number, streams: 1)
        probe.wait(false)
        probe.pass(.seconds(20))
        probe.pool.settings(number, streams: 0)
        probe.wait()
        #expect(probe.steps().isEmpty)
        probe.pass(PoolProbe.peerTimeout)
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    // MARK: Refusals

    @Test("Refused streams halve the limit, and each answer gives one back")
    func refusals() {
        let probe = PoolProbe()
        let number = probe.open(streams: 100)
        probe.send(100)
        probe.refuse(number)
        probe.answer(number, .accepted, 49)
        #expect(probe.openStreams(number) == 50)
        #expect(probe.send(100).count == 49)
        probe.refuse(number, 99)
        #expect(probe.send(10).count == 1, "at once: they were opened under the former limit")
        probe.answer(number)
        #expect(probe.send(10).count == 2)
    }

    @Test("A single stream that is refused again is tried after growing pauses, until one is answered")
    func refusedTries() {
        let probe = PoolProbe()
        let number = probe.open(streams: 4)
        probe.send(4)
        probe.refuse(number, 4)
        var pauses: [Int] = []
        for _ in 0..<4 {
            var waited = 0
            while probe.send().isEmpty {
                probe.pass(.seconds(1))
                probe.pool.heard(number, now: probe.now)
                waited += 1
            }
            pauses.append(waited)
            probe.pool.streamClosed(number, isRefused: true, now: probe.now, random: .max)
        }
        #expect(pauses == [0, 1, 2, 4])
        probe.pool.settings(number, streams: 5)
        #expect(probe.send().count == 1, "news of the limit ends the pause")
        probe.answer(number)
        #expect(probe.send(10).count == 2)
    }

    @Test("SETTINGS that allow as many streams as before are no news: the pause after refusals goes on")
    func sameSettings() {
        let probe = PoolProbe()
        let number = probe.open(streams: 1)
        for _ in 0..<2 {
            #expect(probe.send() == [number])
            probe.refuse(number)
        }
        #expect(probe.send().isEmpty, "it pauses")
        probe.pool.settings(number, streams: 1)
        #expect(probe.send().isEmpty)
        probe.pool.settings(number, streams: 2)
        #expect(probe.send() == [number])
    }

    @Test("Answers after a refusal give back what the peer allows, and of a greater limit later one stream each")
    func givenBack() {
        let probe = PoolProbe()
        let number = probe.open(streams: 2)
        probe.send(2)
        probe.refuse(number)
        probe.answer(number)
        probe.send()
        probe.answer(number)
        probe.pool.settings(number, streams: 4)
        #expect(probe.room(number) == 2)
        probe.send()
        probe.answer(number)
        #expect(probe.room(number) == 3)
    }

    // MARK: Life

    @Test("A busy connection that is silent is pinged; without a byte for all of the peer's time it is dead")
    func deadPeer() {
        let probe = PoolProbe()
        let number = probe.open()
        probe.send(3)
        probe.pass(.milliseconds(4999))
        #expect(probe.steps().isEmpty)
        probe.pass(.milliseconds(1))
        #expect(probe.steps() == [.ping(number)])
        probe.pass(PoolProbe.peerTimeout - .milliseconds(5001))
        #expect(probe.steps().isEmpty)
        probe.pass(.milliseconds(1))
        #expect(probe.pool.nextStep(now: probe.now) == .end(number, .peerDead))
        let loss = probe.end(number, .peerDead)
        #expect(loss?.inFlight == 3 && loss?.isSilent == false)
        #expect(probe.isEmpty)
    }

    @Test("Any byte shows that the peer lives, and the silence counts from when it was asked")
    func life() {
        let probe = PoolProbe()
        let number = probe.open()
        probe.pass(.seconds(50))
        probe.send()
        #expect(probe.steps().isEmpty, "it owed nothing")
        probe.pass(.seconds(5))
        #expect(probe.steps() == [.ping(number)])
        probe.pass(.seconds(4))
        #expect(probe.steps().isEmpty)
        probe.pool.heard(number, now: probe.now)
        probe.pass(.seconds(4))
        #expect(probe.steps().isEmpty)
    }

    @Test("A connection without stream numbers takes no more; what is in flight on it is waited for")
    func usedUp() {
        let probe = PoolProbe()
        let number = probe.open()
        probe.send(2)
        probe.pool.usedUp(number)
        #expect(probe.phase(number) == .draining && probe.send().isEmpty)
        probe.wait()
        #expect(probe.wanted == .reconnect)
        probe.answer(number, .accepted, 2)
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    @Test("An idle connection is pinged once an hour, and closed after the idle time")
    func idle() {
        let probe = PoolProbe(idleTimeout: .seconds(7200))
        let number = probe.open()
        probe.pass(.seconds(3600))
        #expect(probe.steps() == [.ping(number)])
        probe.pool.heard(number, now: probe.now)
        probe.pass(.seconds(3599))
        #expect(probe.steps().isEmpty)
        probe.pass(.seconds(1))
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    // MARK: Ends

    @Test("A loss says how many were in flight, and that the peer gave no reason")
    func loss() {
        let probe = PoolProbe()
        let opened = probe.now
        let number = probe.open()
        probe.send(2)
        #expect(
            probe.end(number)
                == StreamLoss(
                    connection: number,
                    openedAt: opened,
                    endedAt: probe.now,
                    isSilent: true,
                    isUnread: false,
                    inFlight: 2
                )
        )
        #expect(probe.inFlight == 0)
        probe.pool.streamClosed(number, isRefused: false, now: probe.now, random: 0)
        #expect(probe.end(number) == nil)
    }

    @Test("After a goodbye in order an end blames no topic; after one with an error it does")
    func dismissed() {
        for isError in [false, true] {
            let probe = PoolProbe()
            let number = probe.open()
            probe.send(2)
            probe.answer(number)
            #expect(probe.goAway(number, isError: isError) == nil)
            #expect(probe.end(number)?.isSilent == isError)
        }
    }

    @Test("After GOAWAY nothing more is sent there, answers count, and another connection comes at once")
    func goAway() {
        let probe = PoolProbe()
        let number = probe.open()
        probe.send(2)
        probe.answer(number)
        #expect(probe.goAway(number) == nil)
        #expect(probe.send().isEmpty)
        probe.wait()
        #expect(probe.wanted == .reconnect)
        probe.answer(number)
        #expect(probe.steps() == [.end(number, .closedHere)])
    }

    // MARK: Answers about the connection

    @Test("IdleTimeout, Shutdown and TooManyProviderTokenUpdates replace the connection that says so")
    func reconnect() {
        let probe = PoolProbe()
        let numbers = [probe.open(), probe.open()]
        let used = probe.send(2)
        probe.answer(used[0], .reconnect)
        #expect(probe.phase(used[0]) == .draining)
        #expect(numbers.contains { probe.phase($0) == .open })
    }

    @Test("Answers that keep asking for another connection are followed by growing waits")
    func reconnectStorm() {
        let probe = PoolProbe()
        for failures in 1...4 {
            probe.wait()
            let number = probe.open()
            probe.send()
            probe.answer(number, .reconnect)
            #expect(probe.pool.failures == failures && probe.wanted == nil)
            _ = probe.steps()
            probe.pass(.seconds(60))
        }
    }
}
