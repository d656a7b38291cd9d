import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// Opening many tokens at once must not show: what a session does is what it does notification by notification.
struct OpenedTokensTests {
    /// The result of a stream.
    private struct Result: Equatable {
        var actions: [GatewaySession.Action] = []
        var counters = SandboxTopicCounters()
        var distinct = 0
        var feedback: [FeedbackList.Entry] = []
    }

    /// Frames of all commands to devices of all states, among them some that are refused.
    private func frame(_ number: UInt32, _ fixture: TopicFixture, _ random: inout SeededGenerator) -> [UInt8] {
        let token = fixture.token(.random(in: 0..<100, using: &random))
        let n = Int.random(in: 0..<50, using: &random)
        switch Int.random(in: 0..<400, using: &random) {
        case 0: return Frame.command2(identifier: number, token: Array(token.reversed()), n: n)
        case 1: return Frame.command2(identifier: number, token: fixture.token(100), n: n)
        case 2: return Frame.command2(identifier: number, token: token + [0], n: n)
        case 3: return Frame.sentinel(identifier: number)
        case 4: return [9]
        case 5...50: return Frame.command1(identifier: number, token: token, n: n)
        case 51...100: return Frame.command0(token: token, n: n)
        default: return Frame.command2(identifier: number, token: token, n: n)
        }
    }

    private func run(_ stream: [UInt8], armed fault: Fault?, nextChunk: () -> Int) -> Result {
        let fixture = TopicFixture()
        if let fault { fixture.ledger.faults.arm(fault) }
        for device in 0..<40 {
            fixture.ledger.set(device, device.isMultiple(of: 2) ? .offline : .uninstalled, now: TopicFixture.now)
        }
        var result = Result()
        var rest = stream[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(nextChunk())
            rest = rest.dropFirst(chunk.count)
            let action = fixture.receive(Array(chunk))
            if action != .read { result.actions.append(action) }
        }
        result.counters = fixture.ledger.counters
        result.distinct = fixture.ledger.memory.count
        result.feedback = fixture.takeFeedback()
        return result
    }

    @Test("All at once is as byte by byte, and as in chunks of any size", arguments: 0..<60 as Range<UInt64>)
    func sameHoweverCut(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let maker = TopicFixture()
        let stream = (1...600).flatMap { frame($0, maker, &random) }
        let faults: [Fault?] = [
            nil, Fault(.shutdownAfter(count: 150)), Fault(.closeAfter(count: 70)),
            Fault(.errorResponse(Fault.Refusal(selection: .every(65)))), Fault(.silenceAfter(count: 130)),
        ]
        let fault = faults[Int(seed) % faults.count]
        // A frame that comes in pieces is opened alone: byte by byte, none is opened together with others.
        let oneByOne = run(stream, armed: fault) { 1 }
        #expect(run(stream, armed: fault) { stream.count } == oneByOne)
        #expect(run(stream, armed: fault) { .random(in: 1...5000, using: &random) } == oneByOne)
        #expect(oneByOne.counters.accepted > 0)
    }

    @Test("Tokens that are opened together name whom they name alone", arguments: [1, 2, 63, 64, 65, 200])
    func sameInstances(count: Int) {
        let fixture = TopicFixture()
        var tokens = (0..<count).flatMap { fixture.token(UInt32($0)) }
        // One in the middle is no token of this mint.
        tokens[count / 2 * 32] ^= 1
        let alone = (0..<count).map { index in
            tokens[index * 32..<index * 32 + 32].withUnsafeBytes { fixture.mint.open($0) }
        }
        var together = [AppInstance?](repeating: nil, count: count)
        tokens.withUnsafeMutableBytes { tokens in
            together.withUnsafeMutableBufferPointer { fixture.mint.openAll(tokens, into: $0) }
        }
        #expect(together == alone)
        #expect(together[count / 2] == nil)
    }

    @Test("A reader that asks for some notifications only gets their tokens, not those of the ones passed over")
    func someOnly() {
        let fixture = TopicFixture()
        let stream = (1...100).flatMap { Frame.command2(identifier: $0, token: fixture.token($0 % 90)) }
        var asked = 0
        var decoder = GatewayFrameDecoder(limits: GatewayLimits())
        let outcome = stream.withUnsafeBytes { bytes in
            OpenedTokens.with(bytes, fixture.mint) { tokens in
                decoder.decode(bytes) { notification in
                    guard notification.identifier % 3 == 0 else { return nil }
                    asked += 1
                    let instance = tokens.instance(for: notification) { _ in }
                    return instance == fixture.mint.open(notification.token) ? nil : .invalidToken
                }
            }
        }
        #expect(outcome == .needMore)
        #expect(asked == 33)
    }
}
