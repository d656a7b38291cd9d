import Testing

@testable import PipelineCore

/// Connections of a credential whose certificate is replaced.
@Suite struct StreamPoolRotationTests {
    /// A pool with connections that have the first certificate, and have been of use.
    private func makeProbe(_ count: Int = 1) -> (PoolProbe, [UInt32]) {
        let probe = PoolProbe(connections: count)
        probe.setEdition(1)
        let numbers = (0..<count).map { _ in probe.open() }
        for number in probe.send(count) { probe.answer(number) }
        probe.pass(.seconds(10))
        return (probe, numbers)
    }

    @Test("The first request over a connection with another certificate decides; the old one goes on until then")
    func trial() {
        let (probe, old) = makeProbe()
        probe.send()
        probe.setEdition(2)
        #expect(probe.wanted == .successor)
        let new = probe.open()
        #expect(probe.isOnTrial(new) && probe.phase(old[0]) == .open && probe.wanted == nil)
        #expect(probe.send(3) == [new, old[0], old[0]], "one request at a time")
        probe.answer(new)
        #expect(!probe.isOnTrial(new) && probe.phase(old[0]) == .draining)
        #expect(probe.takeRotations() == [.init(connection: old[0], reason: .credential)])
        #expect(probe.send(3) == [new, new, new])
        probe.answer(old[0], .accepted, 3)
        #expect(probe.steps() == [.end(old[0], .closedHere)])
    }

    @Test("Connections are replaced one after the other, each at its own time within the spread")
    func oneByOne() {
        let (probe, old) = makeProbe(2)
        probe.send(2)
        var bits: [UInt64] = [.max, 0]
        probe.pool.noteEdition(2, now: probe.now) { bits.removeFirst() }
        let first = probe.open()
        probe.send()
        probe.answer(first)
        #expect(probe.phase(old[0]) == .open && probe.phase(old[1]) == .draining)
        probe.pass(.seconds(4))
        #expect(probe.wanted == nil)
        probe.pass(.seconds(1))
        #expect(probe.wanted == .successor)
        let second = probe.open()
        #expect(!probe.isOnTrial(second) && probe.phase(old[0]) == .draining, "the certificate is known to be good")
    }

    @Test("Idle connections are replaced as well: the first by one that has lasted for the trial, others by nothing")
    func idle() {
        let (probe, old) = makeProbe(2)
        probe.setEdition(2)
        #expect(probe.steps().isEmpty && probe.wanted == .successor)
        let new = probe.open()
        probe.pass(ConnectionRotation.trial)
        #expect(probe.steps().isEmpty, "the peer has said nothing")
        probe.pool.heard(new, now: probe.now)
        #expect(probe.steps() == old.map { .end($0, .closedHere) })
        #expect(probe.takeRotations().map(\.connection) == old && probe.numbers == [new])
    }

    @Test("A refused certificate takes nothing from the old connections, and is tried again later each time")
    func refused() {
        let (probe, old) = makeProbe()
        probe.setEdition(2)
        for wait in [30, 30, 30] {
            probe.send()
            #expect(probe.wanted == .successor)
            probe.end(probe.pool.connecting(now: probe.now), .certificateRefused)
            probe.pass(.seconds(wait - 1))
            probe.pool.heard(old[0], now: probe.now)
            #expect(probe.wanted == nil && probe.send() == [old[0]])
            probe.pass(.seconds(1))
            probe.pool.heard(old[0], now: probe.now)
        }
    }

    @Test("A refusal by GOAWAY is no refusal of the topic while others are open, and so is one by an answer")
    func refusedLater() {
        let (probe, old) = makeProbe()
        probe.send()
        probe.setEdition(2)
        for _ in 0..<3 {
            let new = probe.open()
            #expect(probe.goAway(new, .badCertificateEnvironment) == nil)
            #expect(probe.steps() == [.end(new, .closedHere)] && probe.phase(old[0]) == .open)
            probe.pass(.seconds(5))
            probe.pool.heard(old[0], now: probe.now)
        }
        let new = probe.open()
        #expect(probe.pool.judged(.doesNotWork(.topic), on: old[0]) == .doesNotWork(.topic))
        #expect(probe.pool.judged(.doesNotWork(.topic), on: new) == .reconnect)
        #expect(probe.pool.judged(.topicRefused, on: new) == .reconnect)
        #expect(probe.pool.judged(.accepted, on: new) == .accepted)
        #expect(probe.send() == [new])
        probe.answer(new, .reconnect)
        #expect(probe.phase(new) == .draining && probe.phase(old[0]) == .open && probe.send() == [old[0]])
    }

    @Test("Without an open connection a refused certificate waits as ever, and a newer one does not")
    func refusedAlone() {
        let (probe, old) = makeProbe()
        probe.end(old[0])
        probe.pass(.seconds(10))
        probe.setEdition(2)
        probe.wait()
        probe.end(probe.pool.connecting(now: probe.now), .certificateRefused)
        probe.pass(.seconds(20))
        #expect(probe.wanted == nil)
        probe.setEdition(3)
        #expect(probe.wanted == .reconnect)
    }

    @Test("A connection that opens after its certificate was replaced is replaced soon")
    func replacedWhileConnecting() {
        let (probe, old) = makeProbe()
        probe.send()
        probe.setEdition(2)
        let second = probe.pool.connecting(now: probe.now)
        probe.setEdition(3)
        probe.pool.opened(second, streams: 10, now: probe.now, random: 0)
        probe.send()
        probe.answer(second)
        #expect(probe.phase(old[0]) == .draining)
        probe.pass(.seconds(5))
        #expect(probe.wanted == .successor)
        let third = probe.open()
        probe.send()
        probe.answer(third)
        #expect(probe.phase(second) == .draining && probe.phase(third) == .open)
    }

    @Test("The old one of two certificates that were never of use needs no trial")
    func neitherProven() {
        let probe = PoolProbe(connections: 1)
        probe.setEdition(1)
        let old = probe.open()
        probe.send()
        probe.setEdition(2)
        probe.pass(.seconds(5))
        let new = probe.open()
        #expect(!probe.isOnTrial(old) && probe.isOnTrial(new))
        probe.answer(old)
        #expect(probe.isOnTrial(new) && probe.phase(old) == .open)
        probe.send()
        probe.answer(new)
        #expect(probe.phase(old) == .draining)
    }
}
