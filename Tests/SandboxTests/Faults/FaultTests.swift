import APNsProtocol
import Testing

@testable import Sandbox

/// Misbehaviour on demand.
struct FaultTests {
    private let fixture = TopicFixture()

    private func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
        identifiers.flatMap { Frame.command2(identifier: $0, token: fixture.token($0), n: Int($0)) }
    }

    @Test("answer-delay holds back every answer, and no end without an answer")
    func answerDelay() {
        fixture.ledger.faults.arm(Fault(.answerDelay(milliseconds: 50)))
        let expected = ErrorResponse(status: .missingDeviceToken, identifier: 3)
        #expect(
            fixture.receive(Frame.sentinel(identifier: 3)) == .finish(answer: expected, delayMilliseconds: 50)
        )
        fixture.reconnect()
        let action = fixture.receive(Frame.command0(token: [UInt8](repeating: 7, count: 32)))
        #expect(action == .finish(answer: nil, delayMilliseconds: 0))
        #expect(fixture.ledger.faults.strikes == [.answerDelay: 1])
    }

    @Test("close-after ends the stream without a packet as soon as so many were accepted")
    func closeAfter() {
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 3)))
        #expect(fixture.receive(frames(1...2)) == .read)
        #expect(fixture.receive(frames(3...3)) == .finish(answer: nil, delayMilliseconds: 0))
        #expect(fixture.receive(frames(4...6)) == .read)
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.ledger.counters.discarded == 3)
        #expect(fixture.ledger.counters.rejected.isEmpty)
        #expect(fixture.ledger.faults.strikes == [.closeAfter: 1])
    }

    @Test("close-after in the middle of a chunk discards the rest of it")
    func closeAfterInAChunk() {
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 3)))
        #expect(fixture.receive(frames(1...9)) == .finish(answer: nil, delayMilliseconds: 0))
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.ledger.counters.discarded == 6)
    }

    @Test("shutdown-after answers status 10 with the last that was accepted")
    func shutdownAfter() {
        fixture.ledger.faults.arm(Fault(.shutdownAfter(count: 3)))
        let expected = ErrorResponse(status: .shutdown, identifier: 3)
        #expect(fixture.receive(frames(1...9)) == .finish(answer: expected, delayMilliseconds: 0))
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.ledger.counters.discarded == 6)
        #expect(fixture.ledger.counters.rejected.isEmpty, "the one that is named was sent")
        #expect(fixture.ledger.faults.strikes == [.shutdownAfter: 1])
    }

    @Test("error-response refuses the n-th notification of a connection, good as it is")
    func errorResponse() {
        fixture.ledger.faults.arm(Fault(.errorResponse(Fault.Refusal(selection: .every(3)))))
        let expected = ErrorResponse(status: .processingError, identifier: 3)
        #expect(fixture.receive(frames(1...5)) == .finish(answer: expected, delayMilliseconds: 0))
        #expect(fixture.ledger.counters.accepted == 2)
        #expect(fixture.ledger.counters.discarded == 2)
        #expect(fixture.ledger.counters.rejected.map(\.status) == [.processingError])
        #expect(fixture.ledger.memory.count == 2)
    }

    @Test("error-response can name no notification, or one that was not sent, which is never number 0")
    func identifiers() {
        let table: [(Fault.Refusal.Identifier, UInt32, UInt32)] = [
            (.own, 7, 7), (.zero, 7, 0), (.wrong, 7, 7 + 1 << 31), (.wrong, 5 + 1 << 31, 5), (.wrong, 0, 1 << 31),
            (.wrong, 1 << 31, 1 + 1 << 31),
        ]
        for (identifier, own, named) in table {
            fixture.reconnect()
            fixture.ledger.faults.arm(Fault(.errorResponse(Fault.Refusal(status: .unknown, identifier: identifier))))
            let action = fixture.receive(Frame.command2(identifier: own, token: fixture.token(1)))
            let expected = ErrorResponse(status: .unknown, identifier: named)
            #expect(action == .finish(answer: expected, delayMilliseconds: 0))
        }
    }

    @Test("A fault strikes on every connection until it is cleared")
    func untilCleared() {
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 1)))
        for _ in 0..<3 {
            fixture.reconnect()
            #expect(fixture.receive(frames(1...1)) == .finish(answer: nil, delayMilliseconds: 0))
        }
        fixture.ledger.faults.clear()
        fixture.reconnect()
        #expect(fixture.receive(frames(1...5)) == .read)
        #expect(fixture.ledger.faults.strikes == [.closeAfter: 3], "what struck stays counted")
    }

    @Test("A fault with `times` ends by itself")
    func times() {
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 1), times: 2))
        for _ in 0..<2 {
            fixture.reconnect()
            #expect(fixture.receive(frames(1...1)) == .finish(answer: nil, delayMilliseconds: 0))
        }
        fixture.reconnect()
        #expect(fixture.receive(frames(1...5)) == .read)
        #expect(fixture.ledger.faults.strikes == [.closeAfter: 2])
    }

    @Test("Of two faults of one name the later is on, faults of different names are on together")
    func combination() {
        fixture.ledger.faults.arm(Fault(.shutdownAfter(count: 1)))
        fixture.ledger.faults.arm(Fault(.shutdownAfter(count: 2)))
        fixture.ledger.faults.arm(Fault(.answerDelay(milliseconds: 5)))
        #expect(fixture.ledger.faults.listed.map(\.fault.name) == [.answerDelay, .shutdownAfter])
        let expected = ErrorResponse(status: .shutdown, identifier: 2)
        #expect(fixture.receive(frames(1...5)) == .finish(answer: expected, delayMilliseconds: 5))
    }
}
