import APNsProtocol
import Testing

@testable import PipelineCore

/// The consequences of answers for the notification, and for its topic.
@Suite struct StreamAnswerTests {
    @Test(
        "A final answer is the outcome",
        arguments: [
            (ProviderVerdict.accepted, StreamVerdict.Result.confirmed), (.rejected, .rejected),
            (.deadLetter, .deadLetter), (.tokenDead, .tokenDead), (.tokenRefused, .tokenRefused),
        ]
    )
    func final(answer: ProviderVerdict, result: StreamVerdict.Result) {
        let probe = StreamProbe()
        probe.publish(1)
        probe.send()
        #expect(probe.answer(0, answer) == .init(0, result))
        #expect(probe.isDrained && probe.settledEnd == 1)
    }

    @Test("Every reason of the table leads to an outcome, or to another attempt")
    func table() {
        for entry in ProviderReason.table {
            for status in entry.statuses {
                let probe = StreamProbe()
                probe.publish(1)
                probe.send()
                let answer = ProviderVerdict(status: status, reason: entry.reason)
                let verdict = probe.answer(0, answer)
                let goesAgain = verdict?.result == .retried
                #expect(verdict != nil && probe.waiting == (goesAgain ? 1 : 0), "\(status) \(entry.reason)")
                #expect(probe.inFlight == 0)
            }
        }
    }

    // MARK: Later

    @Test("429 for a token is tried again after growing waits, then rejected")
    func tooManyRequests() {
        let probe = StreamProbe()
        probe.publish(1)
        let began = probe.now
        var attempts = 0
        while !probe.isDrained, attempts < 1000 {
            guard probe.send() == [0] else {
                probe.pass(.milliseconds(500))
                continue
            }
            attempts += 1
            guard let verdict = probe.answer(0, .retryTokenLater) else { break }
            let isOver = began.elapsed(until: probe.now) >= StreamProbe.retryFor
            #expect(verdict == .init(0, isOver ? .rejected : .retried))
        }
        #expect(probe.isDrained && attempts == 61)
    }

    @Test("A request whose topic is refused goes again after a wait, as often as the health allows, and others go on")
    func topicRefused() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send()
        #expect(probe.answer(0, .topicRefused) == .init(0, .retried))
        #expect(probe.answer(1)?.result == .confirmed && probe.next == nil)
        probe.pass(StreamProbe.retryFor)
        #expect(probe.send() == [0])
        #expect(probe.answer(0, .topicRefused) == .init(0, .retried))
    }

    @Test("The time of attempts after 429 goes on in another queue")
    func inheritedTime() {
        let (former, probe) = (StreamProbe(), StreamProbe())
        former.publish(1)
        former.send()
        former.answer(0, .retryTokenLater)
        let trouble = NotificationTrouble(refusals: 1, loneCloses: 0, retriedSince: former.now)
        #expect(former.troubles == [0: trouble])
        probe.publish(1)
        probe.queue.inheritTrouble(trouble)
        probe.pass(StreamProbe.retryFor)
        #expect(probe.send() == [0])
        #expect(probe.answer(0, .retryTokenLater) == .init(0, .rejected))
    }

    @Test("429 for one token holds no other up")
    func othersGoOn() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send()
        probe.answer(0, .retryTokenLater)
        #expect(probe.answer(1)?.result == .confirmed)
        probe.publish(1)
        #expect(probe.send() == [2])
    }

    @Test("Sleeping tokens wake in the order of their times, those that go again before those that were never sent")
    func wakes() {
        let probe = StreamProbe()
        probe.publish(3)
        probe.send()
        probe.answer(1, .retryTokenLater)
        probe.pass(.milliseconds(10))
        probe.answer(0, .retryTokenLater)
        probe.publish(1)
        #expect(probe.wakesAt == MonotonicTime(nanoseconds: 2_000_000_000))
        #expect(!probe.isResting)
        probe.pass(.seconds(1))
        #expect(probe.send() == [1, 0, 3])
    }

    // MARK: Troubles of the service

    @Test("A few 5xx are sent again after a back-off, and the topic works")
    func fewTroubles() {
        let probe = StreamProbe()
        probe.publish(3)
        probe.send()
        #expect(probe.answer(0, .backOff) == .init(0, .retried))
        #expect(probe.answer(1, .backOff) == .init(1, .retried))
        #expect(probe.next == nil)
        probe.answer(2)
        probe.pass(.seconds(1))
        #expect(probe.send() == [0, 1])
    }

    @Test("When the topic is probed, or works again, waits for another attempt end, whatever their length")
    func wakesWithTopic() {
        for admission in [Admission.one, .all] {
            let probe = StreamProbe()
            probe.publish(2)
            probe.send()
            probe.answer(0, .backOff)
            probe.answer(1, .backOff)
            probe.queue.admit(.none)
            #expect(probe.next == nil)
            probe.queue.admit(admission)
            #expect(probe.next == 0)
        }
    }

    @Test("A wait that began while the topic was stopped ends with the stop; one of a topic that works, with a probe")
    func wakesWithoutStop() {
        let stopped = StreamProbe()
        stopped.publish(1)
        stopped.send()
        stopped.queue.admit(.none)
        stopped.answer(0, .backOff)
        stopped.queue.admit(.all)
        #expect(stopped.next == 0)
        let probed = StreamProbe()
        probed.publish(1)
        probed.send()
        probed.answer(0, .backOff)
        #expect(probed.next == nil)
        probed.queue.admit(.one)
        #expect(probed.next == 0)
    }

    @Test("Ten 5xx in a row mean that the topic does not work")
    func manyTroubles() {
        let probe = StreamProbe()
        probe.publish(12)
        probe.send()
        for ordinal in 0..<9 as Range<UInt32> {
            #expect(probe.answer(ordinal, .backOff) == .init(ordinal, .retried))
        }
        #expect(probe.answer(9, .backOff) == .init(9, .retried, .serviceTrouble))
        #expect(probe.answer(10, .backOff) == .init(10, .retried, .serviceTrouble))
        #expect(probe.waiting == 11, "none of them has an outcome")
    }

    @Test("So do two without an acceptance for five seconds")
    func lastingTroubles() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send()
        #expect(probe.answer(0, .backOff) == .init(0, .retried))
        probe.pass(.seconds(5))
        #expect(probe.answer(1, .backOff)?.finding == .serviceTrouble)
    }

    @Test("An acceptance shows that the service works")
    func acceptanceBetween() {
        let probe = StreamProbe()
        probe.publish(30)
        probe.send()
        for ordinal in 0..<27 as Range<UInt32> {
            let verdict = probe.answer(ordinal, ordinal % 9 == 8 ? .accepted : .backOff)
            #expect(verdict?.finding == StreamVerdict.Finding.none)
        }
    }

    @Test("One that gets 5xx while others are accepted is rejected in the end")
    func ownTrouble() {
        let probe = StreamProbe()
        probe.publish(1)
        var last: StreamProbe.Verdict?
        var others: UInt32 = 0
        for _ in 0..<120 where !probe.isDrained {
            probe.publish(1)
            others += 1
            probe.send()
            last = probe.answer(0, .backOff) ?? last
            probe.answer(others)
            probe.pass(.seconds(1))
        }
        #expect(last == .init(0, .rejected))
    }

    @Test("One that gets 5xx while nothing is accepted goes on for long, but not for ever")
    func troubleForAll() {
        let probe = StreamProbe(serviceAttempts: 30)
        probe.publish(1)
        var results: [StreamVerdict.Result] = []
        while !probe.isDrained, results.count < 100 {
            probe.pass(.seconds(300))
            probe.send()
            guard let verdict = probe.answer(0, .backOff) else { break }
            results.append(verdict.result)
        }
        #expect(results == Array(repeating: .retried, count: 29) + [.rejected])
    }

    // MARK: Refusals of the provider

    @Test("After 403 the notification goes again, the topic or the team does not work, and nothing goes out for now")
    func doesNotWork() {
        for extent in [ProviderVerdict.Extent.topic, .team] {
            let probe = StreamProbe()
            probe.publish(2)
            probe.send(1)
            #expect(probe.answer(0, .doesNotWork(extent)) == .init(0, .retried, .doesNotWork(extent)))
            #expect(probe.send().isEmpty)
            probe.queue.admit(.one)
            #expect(probe.send() == [0])
        }
    }

    @Test("A finding that stops no topic costs a pause")
    func pause() {
        let probe = StreamProbe()
        probe.publish(1)
        probe.send()
        probe.answer(0, .doesNotWork(.topic))
        #expect(probe.send().isEmpty)
        probe.pass(StreamProbe.pause)
        #expect(probe.send() == [0])
    }

    @Test("ExpiredProviderToken and UnrelatedKeyIdInToken: again once; the second time the team does not work")
    func tokenRefused() {
        let probe = StreamProbe()
        probe.publish(1)
        probe.send()
        #expect(probe.answer(0, .reconnectOnce) == .init(0, .retried))
        #expect(probe.send(connection: 2) == [0])
        #expect(probe.answer(0, .reconnectOnce) == .init(0, .retried, .doesNotWork(.team)))
    }

    @Test("IdleTimeout, Shutdown and TooManyProviderTokenUpdates send the notification again, as often as need be")
    func reconnect() {
        let probe = StreamProbe()
        probe.publish(1)
        for _ in 0..<10 {
            #expect(probe.send() == [0])
            #expect(probe.answer(0, .reconnect) == .init(0, .retried))
        }
    }

    @Test("A topic that the service refuses needs connections of its own until something of it is accepted")
    func refusedTopic() {
        let probe = StreamProbe()
        probe.publish(3)
        probe.send(1)
        probe.answer(0, .doesNotWork(.topic))
        #expect(probe.needsOwnConnections)
        probe.queue.admit(.one)
        #expect(probe.send() == [0])
        probe.answer(0, .rejected)
        #expect(probe.needsOwnConnections, "a rejection comes before the topic is looked at")
        #expect(probe.send() == [1])
        probe.answer(1)
        #expect(!probe.needsOwnConnections)
        #expect(probe.send() == [2])
        probe.answer(2, .doesNotWork(.team))
        #expect(!probe.needsOwnConnections, "the others are refused as well")
    }

    // MARK: Rejections

    @Test("A topic with many rejections needs connections of its own, until there are few")
    func rejections() {
        let probe = StreamProbe()
        var ordinal: UInt32 = 0
        func play(_ count: Int, badEvery: Int) {
            for _ in 0..<count {
                probe.publish(1)
                probe.send()
                let isBad = Int(ordinal) % badEvery == 0
                probe.answer(ordinal, isBad ? .tokenRefused : .accepted, slowsConnection: isBad)
                ordinal += 1
            }
        }
        play(1000, badEvery: 50)
        #expect(!probe.needsOwnConnections)
        play(1000, badEvery: 10)
        #expect(probe.needsOwnConnections)
        play(2000, badEvery: 200)
        #expect(!probe.needsOwnConnections)
    }

    @Test("A topic has many rejections from one share in twenty on, until there is one in a hundred")
    func shares() {
        var share = RejectionShare()
        func count(_ answers: Int, areRejections: Bool = false) {
            for _ in 0..<answers { share.countAnswer(isRejection: areRejections) }
        }
        count(10, areRejections: true)
        count(RejectionShare.sample - 11)
        #expect(!share.isHigh, "too few answers")
        count(1)
        #expect(share.isHigh)
        count(2, areRejections: true)
        // Halved twice: 3 rejections in 200 answers are left.
        count(2 * RejectionShare.sample - 2)
        count(99)
        #expect(share.isHigh)
        count(1)
        #expect(!share.isHigh)
    }
}
