import APNsProtocol
import Testing

@testable import Sandbox

/// The notifications that `error-response` meets.
struct FaultSelectionTests {
    private let fixture = TopicFixture()

    private func arm(_ selection: Fault.Refusal.Selection, times: Int? = nil) {
        fixture.ledger.faults.arm(Fault(.errorResponse(Fault.Refusal(selection: selection)), times: times))
    }

    private func frames(_ identifiers: ClosedRange<UInt32>) -> [UInt8] {
        identifiers.flatMap { Frame.command2(identifier: $0, token: fixture.token($0 % 100), n: Int($0)) }
    }

    private func refused(_ identifier: UInt32) -> GatewaySession.Action {
        .finish(answer: ErrorResponse(status: .processingError, identifier: identifier), delayMilliseconds: 0)
    }

    @Test("Switched on in the middle of a connection, it waits for the next multiple")
    func everyFromTheMiddle() {
        #expect(fixture.receive(frames(1...7)) == .read)
        arm(.every(5))
        #expect(fixture.receive(frames(8...12)) == refused(10))
        #expect(fixture.ledger.counters.accepted == 9)
    }

    @Test("A chunk in the middle of a step does not begin the counting anew")
    func everyAcrossChunks() {
        arm(.every(5))
        for number in 1...4 as ClosedRange<UInt32> { #expect(fixture.receive(frames(number...number)) == .read) }
        #expect(fixture.receive(frames(5...5)) == refused(5))
    }

    @Test("A refusal by a fault is seen at its device by watchers")
    func seen() {
        fixture.ledger.trace.watch()
        arm(.every(3))
        #expect(fixture.receive(frames(1...3)) == refused(3))
        #expect(fixture.ledger.trace.drain()[Int(ActivityTrace.Kind.refused.rawValue)] == [3])
    }

    @Test("A refusal by a fault of a token that no device has is seen nowhere")
    func notSeen() {
        fixture.ledger.trace.watch()
        arm(.every(1))
        let damaged = [UInt8](repeating: 7, count: 32)
        #expect(fixture.receive(Frame.command2(identifier: 9, token: damaged)) == refused(9))
        let seen = fixture.ledger.trace.drain().flatMap { $0 }
        #expect(seen == [])
    }

    @Test("A refusal by a fault beats the notification's own fate")
    func beatsTheOwnFate() {
        arm(.every(1))
        let damaged = [UInt8](repeating: 7, count: 32)
        #expect(fixture.receive(Frame.command2(identifier: 9, token: damaged)) == refused(9))
        #expect(fixture.ledger.counters.rejected.map(\.status) == [.processingError])
    }

    /// The identifiers that are refused, each on a connection of its own from its predecessor on.
    private func struck(seed: UInt64, probability: Double, count: UInt32) -> [UInt32] {
        fixture.ledger.faults.seed(seed)
        arm(.probability(probability))
        var struck: [UInt32] = []
        fixture.reconnect()
        for identifier in 1...count where fixture.receive(frames(identifier...identifier)) != .read {
            struck.append(identifier)
            fixture.reconnect()
        }
        return struck
    }

    @Test("A probability strikes the same for the same seed, otherwise for another, about as often as it says")
    func probability() {
        let first = struck(seed: 7, probability: 0.1, count: 5000)
        #expect((400...600).contains(first.count))
        #expect(struck(seed: 7, probability: 0.1, count: 5000) == first)
        #expect(struck(seed: 8, probability: 0.1, count: 5000) != first)
        #expect(struck(seed: 7, probability: 0, count: 5000) == [])
        #expect(struck(seed: 7, probability: 1, count: 100) == Array(1...100))
    }

    @Test("The way the stream is cut does not change whom chance meets")
    func probabilityAndChunks() throws {
        let alone = try #require(struck(seed: 3, probability: 0.01, count: 1000).first)
        fixture.ledger.faults.seed(3)
        fixture.reconnect()
        #expect(fixture.receive(frames(1...1000)) == refused(alone))
    }

    @Test("Topics that are seeded alike have chances of their own")
    func salt() {
        var (first, second) = (FaultPlan(salt: 1), FaultPlan(salt: 2))
        let chance = Fault(.errorResponse(Fault.Refusal(selection: .probability(0.5))))
        first.seed(9)
        second.seed(9)
        first.arm(chance)
        second.arm(chance)
        let draws = (0..<64).map { _ in (first.refuses(nil), second.refuses(nil)) }
        #expect(draws.contains { $0.0 != $0.1 })
    }

    @Test("Given tokens have theirs refused; others and damaged ones meet their own fate")
    func tokens() {
        arm(.instances([AppInstance(device: 4), AppInstance(device: 6)]))
        #expect(fixture.receive(frames(1...9)) == refused(4))
        fixture.reconnect()
        #expect(fixture.receive(frames(5...9)) == refused(6))
        fixture.reconnect()
        #expect(fixture.receive(frames(7...9)) == .read)
        fixture.reconnect()
        let damaged = Frame.command2(identifier: 9, token: [UInt8](repeating: 7, count: 32))
        let expected = ErrorResponse(status: .invalidToken, identifier: 9)
        #expect(fixture.receive(damaged) == .finish(answer: expected, delayMilliseconds: 0))
        #expect(fixture.ledger.faults.strikes == [.errorResponse: 2])
    }

    @Test("With `times` it ends by itself, and what comes then is accepted")
    func times() {
        arm(.every(2), times: 1)
        #expect(fixture.receive(frames(1...3)) == refused(2))
        fixture.reconnect()
        #expect(fixture.receive(frames(1...9)) == .read)
        #expect(fixture.ledger.faults.listed.isEmpty)
    }
}
