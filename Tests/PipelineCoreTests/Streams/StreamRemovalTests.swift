import APNsProtocol
import Testing

@testable import PipelineCore

/// Notifications that leave without a verdict.
@Suite struct StreamRemovalTests {
    @Test("A partition that is being given back sends nothing more, nor again; its notifications in flight settle")
    func stopSending() {
        let probe = StreamProbe()
        probe.publish(4, assignment: 1)
        probe.publish(1, assignment: 2)
        probe.send(3)
        probe.queue.stopSending(assignment: 1)
        #expect(probe.waiting == 1 && probe.inFlight == 3)
        #expect(probe.answer(0) == .init(0, .confirmed))
        #expect(probe.answer(1, .retryTokenLater) == .init(1, .forgotten))
        #expect(probe.lose() == [.init(2, .forgotten)])
        #expect(probe.send() == [4])
        probe.answer(4)
        #expect(probe.isDrained && probe.settledEnd == 2)
    }

    @Test("A partition that is gone has no outcome, whatever the answer")
    func forget() {
        let probe = StreamProbe()
        probe.publish(2, assignment: 1)
        probe.send(1)
        probe.queue.stopSending(assignment: 1)
        probe.queue.forget(assignment: 1)
        probe.queue.stopSending(assignment: 1)
        #expect(probe.inFlight == 1 && probe.waiting == 0)
        #expect(probe.answer(0) == .init(0, .forgotten))
        #expect(probe.isDrained && probe.settledEnd == 0)
    }

    @Test("Leaving requests are found without a look at others, whether they wait, are in flight or were sent before")
    func looks() {
        let probe = StreamProbe(inFlight: 100_000)
        for turn in 0..<1000 as Range<UInt32> { probe.publish(1, assignment: turn % 20) }
        for _ in 0..<50 { probe.publish(3, assignment: 99) }
        let sent = probe.send(400)
        for ordinal in sent.prefix(100) { probe.answer(ordinal) }
        for ordinal in sent.dropFirst(100).prefix(100) { probe.answer(ordinal, .retryTokenLater) }
        var looks = probe.looks
        probe.queue.stopSending(assignment: 7)
        #expect(probe.looks == looks + 45, "five of fifty were answered")
        looks = probe.looks
        probe.queue.forget(assignment: 7)
        #expect(probe.looks == looks + 10, "what was in flight")
        looks = probe.looks
        #expect(probe.queue.takeWaiting(assignment: 99) { $0.token.isMultiple(of: 2) }.count == 75)
        #expect(probe.queue.troubles(assignment: 13).count == 5)
        #expect(probe.looks == looks + 150 + 45)
        looks = probe.looks
        probe.queue.forget(assignment: 77)
        #expect(probe.looks == looks)
    }

    @Test("A newer one of the token waits for the answer to one that is forgotten")
    func forgottenInFlight() {
        let probe = StreamProbe()
        probe.publish(1, token: 1, assignment: 1)
        probe.send()
        probe.queue.forget(assignment: 1)
        probe.publish(1, token: 1, assignment: 2)
        #expect(probe.send().isEmpty)
        probe.answer(0)
        #expect(probe.send() == [1])
    }

    @Test("Waiting notifications are taken away in every state, in order; those in flight are not")
    func takeWaiting() {
        let probe = StreamProbe()
        probe.publish(2, token: 1)
        probe.publish(4)
        probe.send(4)
        // 0 asleep, 1 passed over, 2 again, 3 and 4 in flight, 5 waiting.
        probe.answer(0, .retryTokenLater)
        probe.close(2, isRefused: true)
        #expect(probe.waiting == 4)
        let taken = probe.queue.takeWaiting(assignment: 1) { $0.token != 9 }.map(\.token)
        #expect(taken == [0, 1, 2, 5])
        #expect(probe.waiting == 0 && probe.inFlight == 2)
        probe.pass(.seconds(100))
        #expect(probe.send().isEmpty, "no notification wakes")
        probe.answer(3)
        probe.answer(4)
        #expect(probe.isDrained)
    }

    @Test("Of those that wait only the chosen ones are taken, and their tokens go on")
    func takeSome() {
        let probe = StreamProbe()
        probe.publish(3, token: 1)
        probe.publish(1)
        #expect(probe.queue.takeWaiting(assignment: 1) { $0.token == 0 }.map(\.token) == [0])
        #expect(probe.send() == [1, 3])
        #expect(probe.queue.takeWaiting(assignment: 1) { $0.token == 2 }.map(\.token) == [2])
        probe.publish(1, token: 1)
        probe.answer(1)
        #expect(probe.send() == [4])
    }

    @Test("A sleeper's slot that is used again does not wake in its place")
    func sleeperReplaced() {
        let probe = StreamProbe()
        probe.publish(1)
        probe.send()
        probe.answer(0, .retryTokenLater)
        _ = probe.queue.takeWaiting(assignment: 1) { _ in true }
        probe.publish(1)
        #expect(probe.send() == [1])
        probe.pass(.milliseconds(500))
        probe.answer(1, .retryTokenLater)
        probe.pass(.milliseconds(500))
        #expect(probe.send().isEmpty)
        probe.pass(.milliseconds(500))
        #expect(probe.send() == [1])
    }

    @Test("Notifications that wait for a refused token are discarded, oldest first, and only of that token")
    func discard() {
        let probe = StreamProbe()
        probe.publish(3, token: 1, checksum: 9)
        probe.publish(1, token: 2, checksum: 9)
        probe.publish(1, token: 1, checksum: 9)
        probe.send()
        #expect(probe.answer(0, .tokenRefused)?.result == .tokenRefused)
        #expect(probe.discard(token: 1, checksum: 9) == [1, 2, 4])
        #expect(probe.send() == [3])
        #expect(probe.discard(token: 2, checksum: 9).isEmpty, "it is in flight")
        #expect(probe.discard(token: 3).isEmpty)
        #expect(probe.waiting == 0)
    }

    @Test("Removed notifications give their content back")
    func contents() {
        let probe = StreamProbe()
        let content = probe.queue.addContent()
        probe.publish(2, assignment: 1, content: content)
        probe.publish(1, token: 7, assignment: 2, content: content)
        probe.publish(1, assignment: 3, content: content)
        probe.queue.releaseContent(content)
        probe.send(1)
        probe.queue.forget(assignment: 1)
        #expect(probe.discard(token: 7) == [2])
        _ = probe.queue.takeWaiting(assignment: 3) { _ in true }
        #expect(probe.unusedContent == nil, "one is in flight")
        #expect(probe.answer(0)?.result == .forgotten)
        #expect(probe.unusedContent == content)
    }
}
