import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// Acceptances, refusals and answers of the gateway (binary interface [10] [13]).
struct GatewaySessionTests {
    private let fixture = TopicFixture()

    private func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
        identifiers.flatMap { Frame.command2(identifier: $0, token: fixture.token($0), n: Int($0)) }
    }

    private static func refusal(_ status: APNsStatus, _ identifier: UInt32) -> GatewaySession.Action {
        .finish(answer: ErrorResponse(status: status, identifier: identifier), delayMilliseconds: 0)
    }

    @Test("Nothing is answered for accepted notifications of any command")
    func accepted() {
        let bytes =
            frames(1...3) + Frame.command1(identifier: 4, token: fixture.token(4))
            + Frame.command0(token: fixture.token(5))
        #expect(fixture.receive(bytes) == .read)
        #expect(fixture.ledger.counters.accepted == 5)
        #expect(!fixture.session.isFinished)
    }

    @Test("A refused notification is named; what came before it was processed, what comes after it is discarded")
    func refusedInTheMiddle() {
        let damaged = [UInt8](repeating: 7, count: 32)
        let bytes = frames(1...10) + Frame.command2(identifier: 11, token: damaged) + frames(12...20)
        #expect(fixture.receive(bytes) == Self.refusal(.invalidToken, 11))
        #expect(fixture.ledger.counters.accepted == 10)
        #expect(fixture.ledger.counters.discarded == 9)
        #expect(fixture.receive(frames(21...25)) == .read, "the last word is said once")
        #expect(fixture.ledger.counters.accepted == 10)
        #expect(fixture.ledger.counters.discarded == 14)
        #expect(fixture.ledger.counters.rejected.map(\.status) == [.invalidToken])
        #expect(fixture.ledger.counters.rejected.map(\.count) == [1])
    }

    @Test("Any way of cutting the stream into chunks has the same result", arguments: 0..<30 as Range<UInt64>)
    func chunking(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bytes = frames(1...10) + Frame.sentinel(identifier: 11) + frames(12...20)
        var rest = bytes[...]
        var answers: [GatewaySession.Action] = []
        while !rest.isEmpty {
            let chunk = rest.prefix(.random(in: 1...200, using: &random))
            rest = rest.dropFirst(chunk.count)
            let action = fixture.receive(Array(chunk))
            if action != .read { answers.append(action) }
        }
        #expect(answers == [Self.refusal(.missingDeviceToken, 11)])
        #expect(fixture.ledger.counters.accepted == 10)
        #expect(fixture.ledger.counters.discarded == 9)
        #expect(fixture.ledger.memory.count == 10)
    }

    @Test("A token of another topic, another environment, no device or another generation has status 8")
    func invalidTokens() {
        let key = TopicFixture.key
        let topic = TopicFixture.topic
        let otherTopic = TokenMint(key: key, environment: .development, topic: "com.example.other")
        let otherEnvironment = TokenMint(key: key, environment: .production, topic: topic)
        let tokens = [
            otherTopic.token(of: AppInstance(device: 1)),
            otherEnvironment.token(of: AppInstance(device: 1)),
            fixture.token(100),
            fixture.mint.token(of: AppInstance(device: 1, generation: 1)),
        ]
        for token in tokens {
            fixture.reconnect()
            let action = fixture.receive(Frame.command2(identifier: 9, token: token))
            #expect(action == Self.refusal(.invalidToken, 9))
        }
        #expect(fixture.ledger.counters.accepted == 0)
    }

    @Test("Lengths have their own statuses")
    func lengths() {
        let short = [UInt8](fixture.token(1).prefix(10))
        let table: [([UInt8], APNsStatus)] = [
            (Frame.command2(identifier: 9, token: short), .invalidTokenSize),
            (Frame.command2(identifier: 9, token: fixture.token(1), payload: []), .missingPayload),
            (
                Frame.command2(identifier: 9, token: fixture.token(1), payload: [UInt8](repeating: 32, count: 257)),
                .invalidPayloadSize
            ),
            (Frame.sentinel(identifier: 9), .missingDeviceToken),
        ]
        for (frame, status) in table {
            fixture.reconnect()
            #expect(fixture.receive(frame) == Self.refusal(status, 9))
        }
    }

    @Test("An error in a command 0 notification just closes the connection [10]")
    func command0() {
        let damaged = [UInt8](repeating: 7, count: 32)
        let action = fixture.receive(Frame.command0(token: damaged) + frames(1...2))
        #expect(action == .finish(answer: nil, delayMilliseconds: 0))
        #expect(fixture.ledger.counters.rejected.map(\.status) == [.invalidToken])
        #expect(fixture.ledger.counters.discarded == 2)
    }

    @Test("A command 0 notification is kept for an offline device though it has no expiration")
    func command0IsStored() {
        fixture.ledger.set(5, .offline, now: TopicFixture.now)
        #expect(fixture.receive(Frame.command0(token: fixture.token(5))) == .read)
        #expect(fixture.ledger.counters.stored == 1)
    }

    @Test("Of command 2 notifications without an expiration the last one is kept for each offline device, for 30 days")
    func command2IsStored() {
        fixture.ledger.set(5, .offline, now: TopicFixture.now)
        for n in 1...2 {
            let (token, payload) = (fixture.token(5), Frame.payload(n: n))
            let items: [UInt8] = [1, 0, UInt8(token.count)] + token + [2, 0, UInt8(payload.count)] + payload
            #expect(fixture.receive([2, 0, 0, 0, UInt8(items.count)] + items) == .read)
        }
        #expect(fixture.ledger.counters.stored == 1 && fixture.ledger.counters.coalesced == 1)
        fixture.ledger.set(5, .online, now: TopicFixture.now + 30 * 24 * 3600 - 1)
        #expect(fixture.ledger.counters.delivered == 1)
    }

    @Test("A frame that the end of the stream cuts off is nothing")
    func cutFrame() {
        #expect(fixture.receive(Array(frames(1...2).dropLast())) == .read)
        #expect(fixture.ledger.counters.accepted == 1)
        #expect(fixture.ledger.counters.rejected.isEmpty)
    }
}
