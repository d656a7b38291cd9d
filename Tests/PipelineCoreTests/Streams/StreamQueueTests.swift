import APNsProtocol
import Testing

@testable import PipelineCore

/// Order, limits and memory of a queue.
@Suite struct StreamQueueTests {
    // MARK: Order

    @Test("Notifications go in the order of arrival, and each is answered by itself")
    func order() {
        let probe = StreamProbe()
        probe.publish(4)
        #expect(probe.send() == [0, 1, 2, 3])
        for ordinal in [2, 0, 3, 1] as [UInt32] {
            #expect(probe.answer(ordinal) == .init(ordinal, .confirmed))
        }
        #expect(probe.isDrained && probe.settledEnd == 4)
    }

    @Test("A token has one request in flight; the newer ones follow one by one, in order")
    func oneInFlight() {
        let probe = StreamProbe()
        probe.publish(3, token: 1)
        probe.publish(1, token: 2)
        #expect(probe.send() == [0, 3])
        #expect(probe.answer(0)?.result == .confirmed)
        #expect(probe.send() == [1])
        #expect(probe.send().isEmpty)
        #expect(probe.answer(1, .tokenRefused)?.result == .tokenRefused)
        #expect(probe.send() == [2])
    }

    @Test("A newer one of a token keeps its place among those of other tokens")
    func placeInLine() {
        let probe = StreamProbe()
        probe.publish(1, token: 1)
        probe.publish(2)
        probe.publish(1, token: 1)
        probe.publish(1)
        #expect(probe.send(1) == [0])
        probe.answer(0)
        #expect(probe.send() == [1, 2, 3, 4])
    }

    @Test("A newer one that had its turn in vain goes before what was never sent")
    func passedOver() {
        let probe = StreamProbe()
        probe.publish(2, token: 1)
        probe.publish(2)
        #expect(probe.send(2) == [0, 2])
        probe.publish(1)
        probe.answer(0)
        #expect(probe.send() == [1, 3, 4])
    }

    @Test("The newer ones wait while the oldest of the token waits for another attempt")
    func waitsForRetry() {
        let probe = StreamProbe()
        probe.publish(2, token: 1)
        probe.send()
        #expect(probe.answer(0, .retryTokenLater)?.result == .retried)
        #expect(probe.next == nil && probe.waiting == 2 && probe.isResting)
        probe.pass(.seconds(1))
        #expect(probe.send() == [0])
        probe.answer(0)
        #expect(probe.send() == [1])
    }

    @Test("Tokens with one checksum wait for each other, and none is taken for the other")
    func collision() {
        let probe = StreamProbe()
        probe.publish(1, token: 1, checksum: 9)
        probe.publish(1, token: 2, checksum: 9)
        #expect(probe.send() == [0])
        probe.answer(0)
        #expect(probe.send() == [1])
    }

    @Test("Those that go again go before those never sent, in the order of their return")
    func goesAgain() {
        let probe = StreamProbe()
        probe.publish(4)
        #expect(probe.send(3) == [0, 1, 2])
        #expect(probe.close(1, isRefused: true) == .init(1, .retried))
        #expect(probe.close(0, isRefused: true) == .init(0, .retried))
        #expect(probe.send() == [1, 0, 3])
    }

    // MARK: Limits

    @Test("Never more are in flight than the limit allows")
    func inFlightLimit() {
        let probe = StreamProbe(inFlight: 2)
        probe.publish(4)
        #expect(probe.send() == [0, 1])
        probe.answer(1)
        #expect(probe.send() == [2])
        #expect(probe.inFlight == 2 && probe.waiting == 1)
    }

    @Test("A probe is admitted one at a time, and nothing while the topic does not work")
    func admission() {
        let probe = StreamProbe()
        probe.publish(3)
        probe.queue.admit(.none)
        #expect(probe.send().isEmpty)
        probe.queue.admit(.one)
        #expect(probe.send() == [0])
        probe.answer(0)
        #expect(probe.send() == [1])
        probe.queue.admit(.all)
        #expect(probe.send() == [2])
    }

    @Test("The next request stays the same until it is sent")
    func peek() {
        let probe = StreamProbe()
        probe.publish(2)
        let first = probe.queue.next(now: probe.now)
        #expect(first == probe.queue.next(now: probe.now))
        #expect(probe.send(1) == [0])
        #expect(probe.queue.next(now: probe.now) != first)
    }

    // MARK: Tickets

    @Test("A ticket names queue and notification, and finds nothing once the notification has landed")
    func tickets() throws {
        let probe = StreamProbe(number: 65_535)
        probe.publish(1)
        probe.send()
        let ticket = try #require(probe.tickets[0])
        #expect(ticket.queue == 65_535 && StreamTicket(rawValue: ticket.rawValue) == ticket)
        #expect(probe.queue.place(of: ticket)?.stream == 1)
        #expect(probe.close(0, isRefused: true)?.result == .retried)
        #expect(probe.queue.place(of: ticket) == nil)
        probe.send()
        let old = probe.queue.answered(ticket, .accepted, now: probe.now, random: 0)
        #expect(old == nil, "an answer over the former stream")
        #expect(probe.answer(0)?.result == .confirmed)
        #expect(probe.answer(0) == nil)
    }

    @Test("A slot that is used again is not taken for the one before")
    func slotReuse() throws {
        let probe = StreamProbe()
        probe.publish(1)
        probe.send()
        let former = try #require(probe.tickets[0])
        probe.answer(0)
        probe.publish(1)
        probe.send()
        #expect(probe.tickets[1]?.slot == former.slot)
        let verdict = probe.queue.answered(former, .accepted, now: probe.now, random: 0)
        #expect(verdict == nil && probe.inFlight == 1)
    }

    // MARK: Barriers

    @Test("A barrier is passed when nothing of what was in flight still is, whatever was sent since")
    func barrier() {
        let probe = StreamProbe()
        #expect(probe.hasPassed(probe.barrier))
        probe.publish(4)
        probe.send(2)
        let barrier = probe.barrier
        probe.send()
        probe.answer(0)
        #expect(!probe.hasPassed(barrier))
        #expect(probe.close(1, isRefused: true)?.result == .retried)
        #expect(probe.hasPassed(barrier))
        probe.send()
        #expect(probe.hasPassed(barrier) && !probe.hasPassed(probe.barrier))
    }

    // MARK: Memory

    @Test("Memory is used again: a million notifications need no more than are there at once")
    func memory() {
        let probe = StreamProbe()
        for _ in 0..<5000 {
            probe.publish(200)
            for ordinal in probe.send() { probe.answer(ordinal) }
        }
        #expect(probe.isDrained && probe.capacity == 256)
    }

    @Test("Tokens of all lengths are kept, also when a longer one comes later")
    func tokenLengths() {
        let probe = StreamProbe()
        let lengths = [32, 4, 100, 33, 80, 255]
        for (index, length) in lengths.enumerated() { probe.publish(1, token: UInt32(index), bytes: length) }
        probe.publish(600)
        #expect(probe.capacity == 1024)
        for (index, length) in lengths.enumerated() {
            guard let ticket = probe.queue.next(now: probe.now) else { break }
            let token = Array(probe.queue.token(at: ticket.slot))
            #expect(token == StreamProbe.token(UInt32(index), bytes: length))
            #expect(probe.queue.checksum(at: ticket.slot) == UInt32(index))
            probe.send(1)
        }
        #expect(probe.inFlight == lengths.count)
    }

    @Test("A notification takes 96 bytes beside its token")
    func entrySize() {
        #expect(MemoryLayout<StreamEntry>.stride <= 96)
    }

    @Test("A content may go when the caller has released it and no notification has it")
    func contents() {
        let probe = StreamProbe()
        let content = probe.queue.addContent()
        #expect(content != probe.content)
        probe.publish(2, content: content)
        #expect(probe.queue.next(now: probe.now).map { probe.queue.content(at: $0.slot) } == content)
        probe.queue.releaseContent(content)
        probe.send()
        probe.answer(0)
        #expect(probe.unusedContent == nil)
        probe.answer(1)
        #expect(probe.unusedContent == content)
        #expect(probe.unusedContent == nil)
        #expect(probe.queue.addContent() == content, "numbers are used again")
    }
}
