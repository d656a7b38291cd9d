import APNsProtocol
import Testing

@testable import PipelineCore

/// The complaints of other clients' users, as far as connections and requests are concerned. [field]
@Suite struct StreamComplaintTests {
    @Test("GOAWAY loses no work: what is above its last stream goes again, the rest is waited for")
    func goAway() {
        let (probe, pool) = (StreamProbe(), PoolProbe())
        let number = pool.open()
        probe.publish(4)
        pool.send(4)
        probe.send(connection: number)
        #expect(pool.goAway(number) == nil)
        for ordinal in [2, 3] as [UInt32] {
            pool.refuse(number)
            #expect(probe.close(ordinal, isRefused: true) == .init(ordinal, .retried))
        }
        let other = pool.open()
        #expect(pool.send() == [other])
        #expect(probe.send(connection: other) == [2, 3])
        pool.answer(number, .accepted, 2)
        #expect(probe.answer(0)?.result == .confirmed && probe.answer(1)?.result == .confirmed)
        #expect(pool.steps() == [.end(number, .closedHere)])
    }

    @Test("A collapse of the stream limit loses nothing and spins nothing, and all streams come back with the answers")
    func collapse() {
        let (probe, pool) = (StreamProbe(), PoolProbe(connections: 1))
        let number = pool.open(streams: 200)
        probe.publish(500)
        pool.send(200)
        let sent = probe.send(200, connection: number)
        // One is rejected: SETTINGS fall to 1, and those in flight are refused.
        pool.answer(number, .tokenRefused)
        probe.answer(sent[0], .tokenRefused)
        pool.pool.settings(number, streams: 1)
        for ordinal in sent.dropFirst() {
            pool.refuse(number)
            #expect(probe.close(ordinal, isRefused: true) == .init(ordinal, .retried))
        }
        #expect(pool.send(10).count == 1)
        #expect(probe.send(1, connection: number) == [sent[1]])
        pool.pool.settings(number, streams: 200)
        pool.answer(number)
        probe.answer(sent[1])
        var rounds = 0
        while !probe.isDrained, rounds < 20 {
            rounds += 1
            let count = pool.send(1000).count
            for ordinal in probe.send(count, connection: number) {
                pool.answer(number)
                probe.answer(ordinal)
            }
        }
        #expect(probe.isDrained && rounds < 12)
    }

    @Test("A connection with a provider token has one stream until the first success")
    func pilot() {
        let pool = PoolProbe(startsWithOneStream: true)
        let number = pool.open(streams: 1000)
        #expect(pool.send(5).count == 1)
        pool.answer(number, .tokenRefused)
        #expect(pool.send(5).count == 1, "an answer, but no success")
        pool.answer(number)
        #expect(pool.send(5).count == 5)
        let certificate = PoolProbe(startsWithOneStream: false)
        certificate.open(streams: 1000)
        #expect(certificate.send(5).count == 5)
    }

    @Test("A hundred refusals of one provider token renew the connections once")
    func tokenStorm() {
        let pool = PoolProbe()
        let former = [pool.open(), pool.open()]
        pool.send(200)
        pool.answer(former[0], .reconnectOnce)
        #expect(former.allSatisfy { pool.phase($0) == .draining })
        pool.pass(.seconds(1))
        pool.wait()
        #expect(pool.wanted == .reconnect)
        let fresh = pool.open()
        for number in former {
            while (pool.openStreams(number) ?? 0) > 0 { pool.answer(number, .reconnectOnce) }
        }
        #expect(pool.phase(fresh) == .open)
        #expect(pool.steps() == former.map { .end($0, .closedHere) })
        #expect(pool.wanted == nil)
    }

    @Test("A request whose answer never comes has its time, and its connection takes no more")
    func noAnswers() {
        let (probe, pool) = (StreamProbe(), PoolProbe())
        let silent = pool.open()
        probe.publish(2)
        pool.send()
        probe.send(1, connection: silent)
        for _ in 0..<10 {
            pool.pass(.seconds(1))
            probe.pass(.seconds(1))
            pool.pool.heard(silent, now: pool.now)
            #expect(pool.steps().isEmpty, "it answers pings")
        }
        #expect(!pool.timeOut(silent))
        #expect(probe.timeOut() == [.init(0, .resent)])
        #expect(pool.phase(silent) == .draining)
        pool.wait()
        #expect(pool.wanted == nil, "such an end is a failure")
        pool.pass(.seconds(1))
        #expect(pool.wanted == .reconnect)
    }

    @Test("A request that was passed over is no reason to replace its connection")
    func passedOver() {
        let pool = PoolProbe()
        let number = pool.open()
        pool.send(2)
        pool.answer(number)
        #expect(pool.timeOut(number, stream: 1))
        #expect(pool.phase(number) == .open)
    }

    @Test("A connection that was silent for a minute proves its life before it is used")
    func idleness() {
        let pool = PoolProbe()
        let number = pool.open()
        pool.pass(.seconds(60))
        #expect(pool.send().isEmpty)
        pool.wait()
        #expect(pool.steps() == [.ping(number)])
        pool.pass(.milliseconds(40))
        pool.pool.heard(number, now: pool.now)
        #expect(pool.send() == [number])
    }

    @Test("A connection that died in idleness keeps no request waiting for its end")
    func deadAfterIdleness() {
        let pool = PoolProbe()
        let dead = pool.open()
        pool.pass(.seconds(5000))
        #expect(pool.send().isEmpty)
        pool.wait()
        #expect(pool.steps() == [.ping(dead)])
        pool.pass(.seconds(1))
        #expect(pool.wanted == .first, "one more, while the ping is out")
        let fresh = pool.open()
        #expect(pool.send() == [fresh])
        pool.pass(.seconds(1))
        #expect(pool.steps() == [.end(dead, .peerDead)], "sooner than with requests in flight")
    }

    @Test("A silent service holds up no more than the limit, and the rest can be given back")
    func memory() {
        let probe = StreamProbe(inFlight: 100)
        for _ in 0..<50 {
            probe.publish(900)
            probe.send()
            #expect(probe.inFlight == 100)
            _ = probe.queue.takeWaiting(assignment: 1) { _ in true }
            #expect(probe.waiting == 0)
        }
        #expect(probe.capacity == 1024)
    }

    @Test("Each unanswered request of a closed connection gets its verdict")
    func close() {
        for policy in UnknownFatePolicy.allCases {
            let (probe, pool) = (StreamProbe(unknownFate: policy), PoolProbe())
            let number = pool.open()
            probe.publish(3)
            pool.send(3)
            probe.send(connection: number)
            #expect(pool.end(number, .closedHere)?.inFlight == 3)
            #expect(probe.lose(number, isSilent: false).map(\.ordinal) == [0, 1, 2])
            #expect(probe.inFlight == 0)
        }
    }

    @Test("Attempts to connect that fail are spaced, and go on for ever")
    func dialling() {
        let pool = PoolProbe()
        pool.wait()
        var attempts: [MonotonicTime] = []
        for _ in 0..<6000 {
            if pool.wanted != nil {
                attempts.append(pool.now)
                _ = pool.pool.ended(pool.pool.connecting(now: pool.now), .failed, now: pool.now, random: .max / 2)
            }
            pool.pass(.milliseconds(100))
        }
        #expect((20...40).contains(attempts.count))
        let gaps = zip(attempts, attempts.dropFirst()).map { $0.elapsed(until: $1) }
        #expect(gaps.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(60) })
    }

    @Test("A connection whose bodies wait for the window takes no more, and others are opened")
    func window() {
        let pool = PoolProbe()
        let first = pool.open(streams: 1000)
        pool.send(50)
        pool.pool.stalled(first, true, now: pool.now)
        #expect(pool.send().isEmpty)
        pool.wait()
        pool.pass(.seconds(2))
        pool.wait()
        #expect(pool.wanted == .first)
        let second = pool.open(streams: 1000)
        #expect(pool.send(10) == Array(repeating: second, count: 10))
        pool.pool.stalled(first, false, now: pool.now)
        pool.send(200)
        #expect(pool.openStreams(first) == pool.openStreams(second))
    }

    @Test("Two credential errors in a row that look like the network say that the topic does not work")
    func credential() {
        let pool = PoolProbe()
        pool.wait()
        let first = pool.open()
        #expect(pool.goAway(first, .badCertificateEnvironment) == nil)
        #expect(pool.steps() == [.end(first, .closedHere)])
        #expect(pool.wanted == nil)
        pool.pass(.seconds(1))
        let second = pool.open()
        #expect(pool.goAway(second, .badCertificateEnvironment) == .topic)
    }

    @Test("Two GOAWAYs of one connection are the word of one connection")
    func repeatedGoAway() {
        let pool = PoolProbe()
        let number = pool.open()
        #expect(pool.goAway(number, .badCertificateEnvironment) == nil)
        #expect(pool.goAway(number, .badCertificateEnvironment) == nil)
        #expect(pool.goAway(pool.open(), .badCertificateEnvironment) == .topic)
    }

    @Test("A GOAWAY of a connection that has answered, or with another reason, is no such error")
    func otherGoAways() {
        let pool = PoolProbe()
        for _ in 0..<5 {
            let number = pool.open()
            pool.send()
            pool.answer(number)
            #expect(pool.goAway(number, .badCertificateEnvironment) == nil)
            #expect(pool.goAway(pool.open(), .serviceUnavailable) == nil)
        }
    }
}
