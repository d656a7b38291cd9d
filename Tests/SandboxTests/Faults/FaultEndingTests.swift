import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// Connections that end, fall silent or stop in the middle of the stream.
struct FaultEndingTests {
    private let fixture = TopicFixture()

    private func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
        identifiers.flatMap { Frame.command2(identifier: $0, token: fixture.token($0), n: Int($0)) }
    }

    private func stall(_ takenBytes: Int, milliseconds: Int64? = nil) -> GatewaySession.Action {
        .stall(takenBytes: takenBytes, FaultPlan.Stall(milliseconds: milliseconds, clearings: 0))
    }

    @Test("reset-after resets as soon as so many were accepted; the rest of the chunk is discarded")
    func resetAfter() {
        fixture.ledger.faults.arm(Fault(.resetAfter(count: 3)))
        #expect(fixture.receive(frames(1...9)) == .reset)
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.ledger.counters.discarded == 6)
        #expect(fixture.ledger.faults.strikes == [.resetAfter: 1])
    }

    @Test("silence-after accepts, answers and ends nothing more, and counts it as discarded")
    func silenceAfter() {
        fixture.ledger.faults.arm(Fault(.silenceAfter(count: 3)))
        #expect(fixture.receive(frames(1...5)) == .read)
        #expect(fixture.receive(frames(6...9) + Frame.sentinel(identifier: 10)) == .read)
        #expect(fixture.session.isSilent)
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.ledger.counters.discarded == 7)
        #expect(fixture.ledger.counters.rejected.isEmpty)
        #expect(fixture.ledger.faults.strikes == [.silenceAfter: 1])
    }

    @Test("sentinel-silence answers no zero-length token, and discards what follows")
    func sentinelSilence() {
        fixture.ledger.faults.arm(Fault(.sentinelSilence))
        #expect(fixture.receive(frames(1...5) + Frame.sentinel(identifier: 6) + frames(7...9)) == .read)
        #expect(fixture.receive(frames(10...11)) == .read)
        #expect(fixture.session.isSilent)
        #expect(fixture.ledger.counters.accepted == 5)
        #expect(fixture.ledger.counters.discarded == 5)
        #expect(fixture.ledger.faults.strikes == [.sentinelSilence: 1])
    }

    @Test("sentinel-silence leaves answers to other notifications alone")
    func sentinelSilenceIsForSentinels() {
        fixture.ledger.faults.arm(Fault(.sentinelSilence))
        let damaged = [UInt8](repeating: 7, count: 32)
        let expected = ErrorResponse(status: .invalidToken, identifier: 6)
        let action = fixture.receive(Frame.command2(identifier: 6, token: damaged))
        #expect(action == .finish(answer: expected, delayMilliseconds: 0))
        #expect(fixture.ledger.faults.strikes == [.sentinelSilence: 0])
    }

    @Test("A refusal by error-response with status 2 is answered under sentinel-silence")
    func refusalIsNoSentinel() {
        fixture.ledger.faults.arm(Fault(.sentinelSilence))
        fixture.ledger.faults.arm(Fault(.errorResponse(Fault.Refusal(status: .missingDeviceToken))))
        let expected = ErrorResponse(status: .missingDeviceToken, identifier: 1)
        #expect(fixture.receive(frames(1...1)) == .finish(answer: expected, delayMilliseconds: 0))
    }

    @Test("answer-delay holds for every answer: to a bad notification, to a refused good one, and for a shutdown")
    func delayForAll() {
        fixture.ledger.faults.arm(Fault(.answerDelay(milliseconds: 9)))
        fixture.ledger.faults.arm(Fault(.shutdownAfter(count: 2)))
        func expect(_ bytes: [UInt8], _ status: APNsStatus, _ identifier: UInt32) {
            fixture.reconnect()
            let answer = ErrorResponse(status: status, identifier: identifier)
            #expect(fixture.receive(bytes) == .finish(answer: answer, delayMilliseconds: 9))
        }
        expect(frames(1...3), .shutdown, 2)
        expect(Frame.command2(identifier: 5, token: [UInt8](repeating: 7, count: 32)), .invalidToken, 5)
        fixture.ledger.faults.arm(Fault(.errorResponse(Fault.Refusal(identifier: .wrong))))
        expect(frames(7...7), .processingError, 7 + 1 << 31)
        #expect(fixture.ledger.faults.strikes[.answerDelay] == 3)
    }

    @Test("stall-after takes so many, to the byte, and gives the rest back")
    func stallAfter() {
        fixture.ledger.faults.arm(Fault(.stallAfter(count: 3, milliseconds: 40)))
        let whole = frames(1...3)
        let rest = frames(4...9)
        #expect(fixture.receive(whole + rest) == stall(whole.count, milliseconds: 40))
        #expect(fixture.ledger.counters.accepted == 3)
        #expect(fixture.receive(rest) == .read, "it strikes once on a connection")
        #expect(fixture.ledger.counters.accepted == 9)
        #expect(fixture.ledger.counters.discarded == 0)
        #expect(fixture.ledger.faults.strikes == [.stallAfter: 1])
    }

    @Test("stall-after finds its place however the stream is cut", arguments: 0..<40 as Range<UInt64>)
    func stallChunking(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        fixture.ledger.faults.arm(Fault(.stallAfter(count: 5, milliseconds: nil)))
        let bytes = frames(1...9)
        var rest = bytes[...]
        var stalledAt: Int?
        while !rest.isEmpty {
            let chunk = rest.prefix(.random(in: 1...300, using: &random))
            switch fixture.receive(Array(chunk)) {
            case .read:
                rest = rest.dropFirst(chunk.count)
            case .stall(let takenBytes, _):
                rest = rest.dropFirst(takenBytes)
                stalledAt = rest.startIndex
                #expect(fixture.ledger.counters.accepted == 5)
            case .finish, .reset:
                Issue.record("nothing here ends the connection")
            }
        }
        #expect(stalledAt == frames(1...5).count)
        #expect(fixture.ledger.counters.accepted == 9)
    }

    @Test("A notification that is refused before the stall is answered, and all behind it is discarded")
    func refusedBeforeTheStall() {
        fixture.ledger.faults.arm(Fault(.stallAfter(count: 5, milliseconds: nil)))
        let bytes = frames(1...2) + Frame.sentinel(identifier: 3) + frames(4...9)
        let missing = ErrorResponse(status: .missingDeviceToken, identifier: 3)
        #expect(fixture.receive(bytes) == .finish(answer: missing, delayMilliseconds: 0))
        fixture.reconnect()
        let damaged = Frame.command2(identifier: 3, token: [UInt8](repeating: 7, count: 32))
        let invalid = ErrorResponse(status: .invalidToken, identifier: 3)
        #expect(
            fixture.receive(frames(1...2) + damaged + frames(4...9)) == .finish(answer: invalid, delayMilliseconds: 0)
        )
        #expect(fixture.ledger.counters.accepted == 4)
        #expect(fixture.ledger.counters.discarded == 12)
        #expect(fixture.ledger.faults.strikes == [.stallAfter: 0])
    }

    @Test("A stall and an end at the same notification: it ends")
    func stallAndEnd() {
        fixture.ledger.faults.arm(Fault(.stallAfter(count: 3, milliseconds: nil)))
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 3)))
        #expect(fixture.receive(frames(1...5)) == .finish(answer: nil, delayMilliseconds: 0))
        #expect(fixture.ledger.counters.discarded == 2)
    }

    @Test("Of several ends the first is carried out")
    func firstEnd() {
        fixture.ledger.faults.arm(Fault(.resetAfter(count: 4)))
        fixture.ledger.faults.arm(Fault(.shutdownAfter(count: 2)))
        fixture.ledger.faults.arm(Fault(.silenceAfter(count: 3)))
        let expected = ErrorResponse(status: .shutdown, identifier: 2)
        #expect(fixture.receive(frames(1...9)) == .finish(answer: expected, delayMilliseconds: 0))
        #expect(fixture.ledger.faults.strikes[.resetAfter] == 0)
    }

    @Test("Clearing one fault leaves the others on, and what has struck stays counted")
    func clearOne() {
        fixture.ledger.faults.arm(Fault(.closeAfter(count: 1)))
        fixture.ledger.faults.arm(Fault(.resetAfter(count: 2)))
        #expect(fixture.receive(frames(1...3)) == .finish(answer: nil, delayMilliseconds: 0))
        fixture.ledger.faults.clear(.closeAfter)
        fixture.reconnect()
        #expect(fixture.receive(frames(1...3)) == .reset)
        #expect(fixture.ledger.faults.strikes == [.closeAfter: 1, .resetAfter: 1])
        #expect(fixture.ledger.faults.listed.map(\.fault.name) == [.resetAfter])
        #expect(fixture.ledger.faults.listed.map(\.strikes) == [1])
    }

    @Test("The feedback list is cut only where there is something to cut")
    func feedbackCut() {
        fixture.ledger.faults.arm(Fault(.feedbackCut(bytes: 50), times: 1))
        #expect(fixture.ledger.faults.takeFeedbackCut(of: 50) == nil)
        #expect(fixture.ledger.faults.takeFeedbackCut(of: 51) == 50)
        #expect(fixture.ledger.faults.takeFeedbackCut(of: 51) == nil, "its times are over")
        #expect(fixture.ledger.faults.strikes == [.feedbackCut: 1])
    }
}
