import Testing

@testable import SimulatedServers
@testable import belfry_simulate

/// The appliers' Redis against the rule to which the auditor holds its states.
@Suite struct ApplyingStateTests {
    private static func changes(_ dice: inout Dice) -> [ApplyingChange] {
        (0..<dice.pick(1...6)).map { _ in
            let at = UInt32(dice.pick(1...4))
            let code = UInt8(dice.pick(1...3))
            switch dice.pick(0...2) {
            case 0: return .init(token: 0, kind: .tombstone, at: at, code: code)
            case 1: return .init(token: 0, kind: .describe, at: at, code: code * 4, texts: [code])
            default: return .init(token: 0, kind: .register, at: at, code: code * 4, texts: [code ^ 1])
            }
        }
    }

    @Test("Changes in any order, some of them repeated, lead to the state of the permutation rule", arguments: 1...20)
    func permutations(seed: UInt64) {
        var dice = Dice(seed: seed)
        for _ in 0..<200 {
            let changes = Self.changes(&dice)
            let expected = TokenModel(after: changes)
            var order = changes + changes.filter { _ in dice.chance(30) }
            for _ in 0..<5 {
                order.shuffle(using: &dice)
                var state = TokenModel()
                for change in order { _ = state.make(change) }
                #expect(state == expected, "\(order)")
            }
        }
    }

    @Test("A registration in the second of a death, or later, takes it away once; a later death stays")
    func revival() {
        var state = TokenModel()
        /// - Returns: the change took a tombstone away; the token is dead after it.
        func make(_ kind: ApplyingChange.Kind, at: UInt32) -> [Bool] {
            let wasRevived = state.make(.init(token: 0, kind: kind, at: at, code: 1))
            return [wasRevived, state.isDead]
        }
        #expect(make(.tombstone, at: 5) == [false, true])
        #expect(make(.register, at: 4) == [false, true])
        #expect(make(.describe, at: 9) == [false, true])
        #expect(make(.register, at: 5) == [true, false])
        #expect(make(.register, at: 5) == [false, false])
        #expect(make(.tombstone, at: 5) == [false, false])
        #expect(make(.tombstone, at: 6) == [false, true])
    }
}
