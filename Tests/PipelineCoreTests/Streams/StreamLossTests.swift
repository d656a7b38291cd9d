import APNsProtocol
import Testing

@testable import PipelineCore

/// Requests that are not answered.
@Suite struct StreamLossTests {
    // MARK: Unknown fate

    @Test("The unanswered requests of a lost connection go again, in order, and those of others stay")
    func lost() {
        let probe = StreamProbe()
        probe.publish(5)
        probe.send(2, connection: 1)
        probe.send(2, connection: 2)
        probe.answer(0)
        #expect(probe.lose(2) == [.init(2, .resent), .init(3, .resent)])
        #expect(probe.send(connection: 3) == [2, 3, 4])
        #expect(probe.answer(1)?.result == .confirmed)
    }

    @Test("By another policy their fate is settled")
    func otherPolicies() {
        for (policy, result) in [(UnknownFatePolicy.presume, StreamVerdict.Result.presumed), (.giveUp, .unknown)] {
            let probe = StreamProbe(unknownFate: policy, loneCloses: 1)
            probe.publish(3)
            probe.send()
            #expect(probe.close(1, isRefused: false) == .init(1, result))
            #expect(probe.lose() == [.init(0, result), .init(2, result)])
            probe.publish(1)
            probe.send()
            probe.pass(StreamProbe.requestTimeout)
            #expect(probe.timeOut() == [.init(3, result)])
            #expect(probe.isDrained)
        }
    }

    @Test("A refused stream goes again by any policy: the peer has not processed it")
    func refused() {
        for policy in UnknownFatePolicy.allCases {
            let probe = StreamProbe(unknownFate: policy)
            probe.publish(1)
            for _ in 0..<20 {
                #expect(probe.send() == [0])
                #expect(probe.close(0, isRefused: true) == .init(0, .retried))
            }
        }
    }

    @Test("The end of a stream after its answer is no news")
    func closedAfterAnswer() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send()
        #expect(probe.answer(0)?.result == .confirmed)
        #expect(probe.close(0, isRefused: false) == nil)
        #expect(probe.answer(1, .retryTokenLater)?.result == .retried)
        #expect(probe.close(1, isRefused: false) == nil)
        #expect(probe.waiting == 1)
    }

    @Test("Requests that a peer has not read, because it refused our certificate, go again by any policy")
    func unread() {
        for policy in UnknownFatePolicy.allCases {
            let probe = StreamProbe(unknownFate: policy)
            probe.publish(1)
            probe.send()
            #expect(probe.lose(isSilent: false, isUnread: true) == [.init(0, .retried)])
        }
    }

    // MARK: Time-outs

    @Test("A request without an answer is given up after its time, the oldest first")
    func timeOut() {
        let probe = StreamProbe()
        probe.publish(3)
        probe.send(1)
        probe.pass(.seconds(1))
        probe.send(1)
        probe.pass(.seconds(1))
        probe.send(1)
        #expect(probe.timeOut().isEmpty)
        probe.pass(.seconds(9))
        #expect(probe.timeOut() == [.init(0, .resent), .init(1, .resent)])
        #expect(probe.send(connection: 2) == [0, 1])
        #expect(probe.inFlight == 3)
    }

    @Test("A request that the service passes over again and again is refused; one that waits with all others is not")
    func passedOver() {
        let passedOver = StreamProbe(loneCloses: 3)
        passedOver.publish(1)
        var results: [StreamVerdict.Result] = []
        while !passedOver.isDrained, results.count < 10 {
            passedOver.pass(.seconds(60))
            passedOver.send()
            passedOver.pass(StreamProbe.requestTimeout)
            results += passedOver.timeOut(isPassedOver: true).map(\.result)
        }
        #expect(results == [.resent, .resent, .poison])
        let slow = StreamProbe(loneCloses: 3)
        slow.publish(1)
        for _ in 0..<10 {
            #expect(slow.send() == [0])
            slow.pass(StreamProbe.requestTimeout)
            #expect(slow.timeOut() == [.init(0, .resent)])
        }
    }

    @Test("A notification whose stream is reset again and again goes after growing waits, and is then refused")
    func reset() {
        let probe = StreamProbe(loneCloses: 3)
        probe.publish(2)
        probe.send()
        #expect(probe.close(0, isRefused: false) == .init(0, .resent))
        #expect(probe.next == nil, "it waits")
        #expect(probe.answer(1)?.result == .confirmed)
        probe.pass(.seconds(1))
        probe.send()
        #expect(probe.close(0, isRefused: false) == .init(0, .resent))
        probe.pass(.seconds(2))
        probe.send()
        #expect(probe.close(0, isRefused: false) == .init(0, .poison))
        #expect(probe.isDrained)
    }

    // MARK: Poison

    @Test("A notification alone on so many connections that ended without a word is refused")
    func poison() {
        let probe = StreamProbe(loneCloses: 3)
        probe.publish(1)
        for result in [StreamVerdict.Result.resent, .resent, .poison] {
            #expect(probe.send() == [0])
            #expect(probe.lose() == [.init(0, result)])
        }
        #expect(probe.isDrained)
    }

    @Test("A notification that was not alone is not counted, nor at an end that has another reason")
    func notAlone() {
        let probe = StreamProbe(loneCloses: 1)
        probe.publish(1)
        for _ in 0..<5 {
            probe.send()
            #expect(probe.lose(others: 1) == [.init(0, .resent)])
            probe.send()
            #expect(probe.lose(isSilent: false) == [.init(0, .resent)])
        }
    }

    @Test("Poison among others gets alone by itself, and only it is refused", arguments: [0, 5, 99] as [UInt32])
    func amongOthers(culprit: UInt32) {
        let probe = StreamProbe()
        probe.publish(100)
        var outcomes: [UInt32: StreamVerdict.Result] = [:]
        var connections: UInt32 = 0
        var rounds = 0
        while !probe.isDrained, rounds < 200 {
            rounds += 1
            let sent = probe.send(connection: connections)
            if sent.contains(culprit) {
                connections += 1
                for verdict in probe.lose(connections - 1) where verdict.result != .resent {
                    outcomes[verdict.ordinal] = verdict.result
                }
            } else {
                for ordinal in sent { outcomes[ordinal] = probe.answer(ordinal)?.result }
            }
        }
        #expect(probe.isDrained && outcomes.count == 100 && connections < 20)
        #expect(outcomes.filter { $0.value != .confirmed }.map(\.key) == [culprit])
        #expect(outcomes[culprit] == .poison)
    }

    @Test("Suspects go apart: with nothing else in flight, and over connections of their own")
    func apart() {
        let probe = StreamProbe()
        probe.publish(4)
        probe.send(2)
        probe.lose()
        probe.send(2)
        probe.lose()
        probe.publish(1)
        #expect(probe.needsOwnConnections)
        #expect(probe.send() == [0], "half of them")
        probe.answer(0)
        #expect(probe.send() == [1])
        probe.answer(1)
        #expect(!probe.needsOwnConnections)
        #expect(probe.send() == [2, 3, 4])
    }

    @Test("The topics on a shared connection that ends silently go apart for a minute at once, if they are few")
    func secluded() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send(1)
        for (sharers, isSilent) in [(9, true), (0, true), (2, false)] {
            probe.lose(isSilent: isSilent, others: 5, sharers: sharers)
            #expect(!probe.needsOwnConnections, "\(sharers) topics, silent: \(isSilent)")
            probe.answer(probe.send(1)[0])
            probe.publish(1)
            probe.send(1)
        }
        probe.lose(3, others: 5, sharers: 8)
        #expect(!probe.needsOwnConnections, "nothing of the topic was on it")
        probe.lose(others: 5, sharers: 8)
        #expect(probe.needsOwnConnections)
        while let ordinal = probe.send(1).first { probe.answer(ordinal) }
        probe.pass(.seconds(59))
        #expect(probe.isDrained && probe.needsOwnConnections)
        probe.pass(.seconds(1))
        #expect(!probe.needsOwnConnections)
    }

    @Test("By any policy for unknown fates, what shares a connection that ends silently goes apart")
    func secludedByAnyPolicy() {
        for policy in UnknownFatePolicy.allCases {
            let probe = StreamProbe(unknownFate: policy)
            probe.publish(1)
            probe.send()
            probe.lose(others: 1, sharers: 2)
            #expect(probe.needsOwnConnections)
        }
    }

    @Test("A topic whose suspects have ended a connection has connections of its own for ten minutes")
    func convicted() {
        let probe = StreamProbe(loneCloses: 3)
        probe.publish()
        for _ in 1...2 {
            probe.send()
            probe.lose(others: 5)
        }
        for expected in [StreamVerdict.Result.resent, .resent, .poison] {
            probe.send()
            #expect(probe.lose().map(\.result) == [expected])
        }
        #expect(probe.isDrained && probe.needsOwnConnections)
        probe.pass(.seconds(599))
        #expect(probe.needsOwnConnections)
        probe.pass(.seconds(1))
        #expect(!probe.needsOwnConnections)
    }

    @Test("A topic whose suspects were all answered shares connections again")
    func acquitted() {
        let probe = StreamProbe()
        probe.publish(2)
        for _ in 1...3 {
            probe.send(2)
            probe.lose(others: 5)
        }
        #expect(probe.needsOwnConnections)
        while let ordinal = probe.send().first { probe.answer(ordinal) }
        #expect(probe.isDrained && !probe.needsOwnConnections)
    }

    @Test("Suspects wait for what is in flight elsewhere")
    func waitForOthers() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send(1, connection: 1)
        probe.lose(1)
        #expect(probe.send(1, connection: 1) == [0])
        #expect(probe.send(1, connection: 2) == [1])
        probe.lose(1)
        #expect(probe.next == nil)
        probe.answer(1)
        #expect(probe.send() == [0])
    }

    @Test("Earlier trouble counts in another queue")
    func troubles() {
        let probe = StreamProbe(loneCloses: 3)
        probe.publish(2)
        probe.send(1)
        probe.lose()
        #expect(probe.troubles == [0: NotificationTrouble(refusals: 0, loneCloses: 1)])
        probe.publish(1)
        probe.queue.inheritTrouble(.init(refusals: 0, loneCloses: 2))
        #expect(probe.troubles[2] == NotificationTrouble(refusals: 0, loneCloses: 2))
        probe.send()
        #expect(probe.close(2, isRefused: false) == .init(2, .poison))
    }
}
