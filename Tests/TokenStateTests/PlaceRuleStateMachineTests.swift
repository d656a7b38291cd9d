import PipelineCore
import TestSupport
import Testing

@testable import TokenState

/// The way of an installation to the rule of its places.
@Suite struct PlaceRuleStateMachineTests {
    private typealias Action = PlaceRuleStateMachine.Action

    private static func rule(_ number: UInt64) -> PlaceRule { .keyed(SipHash(low: number, high: 7)) }

    /// A machine that works by a rule.
    private func working(by rule: PlaceRule) -> PlaceRuleStateMachine {
        var machine = PlaceRuleStateMachine(new: Self.rule(1))
        #expect(machine.read(rule.text) == .use(rule))
        return machine
    }

    @Test("On an empty server it writes a rule of its own if there is none, and works by the one that is there then")
    func empty() {
        var machine = PlaceRuleStateMachine(new: Self.rule(1))
        #expect(machine.read(nil) == .search)
        #expect(machine.found(isUnkeyedThere: false, isOtherThere: false) == .write(Self.rule(1)))
        #expect(machine.wrote() == .read)
        #expect(!machine.isKnown)
        // Somebody else was faster.
        #expect(machine.read(Self.rule(2).text) == .use(Self.rule(2)))
        #expect(machine.isKnown)
    }

    @Test("An installation that has tokens and no rule stays with layout 2")
    func older() {
        var machine = PlaceRuleStateMachine(new: Self.rule(1))
        #expect(machine.read(nil) == .search)
        #expect(machine.found(isUnkeyedThere: true, isOtherThere: false) == .write(.unkeyed))
        #expect(machine.wrote() == .read)
        #expect(machine.read("2") == .use(.unkeyed))
        #expect(machine.read("2") == .rest)
    }

    @Test("Tokens that only a key finds, and no key: nobody may begin", arguments: [false, true])
    func gone(isUnkeyedThere: Bool) {
        var machine = PlaceRuleStateMachine(new: Self.rule(1))
        #expect(machine.read(nil) == .search)
        #expect(machine.found(isUnkeyedThere: isUnkeyedThere, isOtherThere: true) == .end(.ruleIsGone))
    }

    @Test("A value of a later version: nobody may begin")
    func later() {
        var machine = PlaceRuleStateMachine(new: Self.rule(1))
        #expect(machine.read("4 of another form") == .end(.unknownForm))
        #expect(machine.read("2") == .rest, "it is over")
    }

    @Test("Who works by a rule that Redis has lost writes it again, and goes on if nobody was faster")
    func lost() {
        for rule in [Self.rule(5), .unkeyed] {
            var machine = working(by: rule)
            #expect(machine.read(nil) == .write(rule))
            #expect(machine.wrote() == .read)
            #expect(machine.read(rule.text) == .rest)
        }
    }

    @Test("Another rule than the one at the start ends the role", arguments: ["2", "3 00", "x"])
    func changed(text: String) {
        var machine = working(by: Self.rule(5))
        #expect(machine.read(Self.rule(5).text) == .rest)
        #expect(machine.read(text) == .end(.changed))
        #expect(machine.read(Self.rule(5).text) == .rest, "it is over")
        var other = working(by: Self.rule(5))
        #expect(other.read(nil) == .write(Self.rule(5)))
        #expect(other.wrote() == .read)
        #expect(other.read(Self.rule(6).text) == .end(.changed), "a newcomer was faster")
    }

    @Test("Of several who begin at once all work by one rule, whatever the order of their commands", arguments: 1...100)
    func race(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var value: String?
        var machines = (0..<4).map { PlaceRuleStateMachine(new: Self.rule($0)) }
        var actions = machines.map { _ in Action.read }
        var used: [PlaceRule] = []
        while used.count < machines.count {
            let index = random.pick(0...3)
            switch actions[index] {
            case .read:
                actions[index] = machines[index].read(value)
            case .search:
                actions[index] = machines[index].found(isUnkeyedThere: false, isOtherThere: false)
            case .write(let rule):
                value = value ?? rule.text
                actions[index] = machines[index].wrote()
            case .use(let rule):
                used.append(rule)
                actions[index] = .rest
            case .rest:
                break
            case .end(let fault):
                Issue.record(fault)
                return
            }
        }
        #expect(used.allSatisfy { $0.text == value })
    }
}
