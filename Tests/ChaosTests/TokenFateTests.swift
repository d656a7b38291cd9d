import LocalPipeline
import TestSupport
import Testing

@Suite("The state that follows from what was said of a token, in a chaos run")
struct TokenFateTests {
    /// The rules of Redis' scripts, one change after the other.
    private struct Model {
        var registered: UInt32 = 0
        var tombstoned: UInt32 = 0
        var reason: UInt8 = 0

        mutating func apply(_ statement: TokenFate.Statement) {
            switch statement {
            case .registered(let time):
                registered = max(registered, time)
                if tombstoned <= registered { (tombstoned, reason) = (0, 0) }
            case .missing(let time): bury(time, 1)
            case .unregistered(let time): bury(time, 3)
            }
        }

        private mutating func bury(_ time: UInt32, _ newReason: UInt8) {
            guard time > registered else { return }
            if time > tombstoned || (time == tombstoned && newReason < reason) {
                (tombstoned, reason) = (time, newReason)
            }
        }

        var fate: TokenFate {
            TokenFate(
                registeredAt: registered,
                tombstonedAt: tombstoned,
                reason: [0: "none", 1: "feedback", 3: "unregistered"][reason] ?? "?",
                locale: registered > 0 ? RegistrationStream.locale(at: registered) : ""
            )
        }
    }

    @Test("It is what the rules of the scripts lead to, in any order")
    func permutations() {
        for seed in UInt64(1)...2000 {
            var random = SeededGenerator(seed: seed)
            let statements = (0..<random.pick(0...6)).map { _ -> TokenFate.Statement in
                let time = UInt32(random.pick(1...5))
                return switch random.pick(0...2) {
                case 0: .registered(time)
                case 1: .unregistered(time)
                default: .missing(time)
                }
            }
            let expected = TokenFate(statements)
            for _ in 0..<5 {
                let order = statements.shuffled(using: &random)
                #expect(TokenFate(order) == expected)
                var model = Model()
                for statement in order { model.apply(statement) }
                #expect(model.fate == expected, "\(order)")
            }
            #expect(statements.allSatisfy { expected.honours($0) })
        }
    }

    @Test("A state that is older than a statement does not honour it")
    func honours() {
        #expect(!TokenFate().honours(.registered(1)) && !TokenFate().honours(.missing(1)))
        #expect(!TokenFate([.registered(4)]).honours(.registered(5)))
        #expect(!TokenFate([.registered(4)]).honours(.unregistered(5)))
        #expect(!TokenFate([.missing(9)]).honours(.registered(5)))
        #expect(TokenFate([.registered(5)]).honours(.missing(5)))
    }
}
