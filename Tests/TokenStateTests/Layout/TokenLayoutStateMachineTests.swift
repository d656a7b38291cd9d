import PipelineCore
import TestSupport
import Testing

@testable import TokenState

/// The way of an installation to the layout of its tokens.
@Suite struct TokenLayoutStateMachineTests {
    private typealias Action = TokenLayoutStateMachine.Action

    private static func layout(_ number: UInt64) -> TokenLayout { TokenLayout(SipHash(low: number, high: 7)) }

    /// A machine that works by a layout.
    private func working(by layout: TokenLayout) -> TokenLayoutStateMachine {
        var machine = TokenLayoutStateMachine(new: Self.layout(1))
        #expect(machine.read(layout.text) == .use(layout))
        return machine
    }

    @Test("On an empty server it writes a layout of its own if there is none, and works by the one that is there then")
    func empty() {
        var machine = TokenLayoutStateMachine(new: Self.layout(1))
        #expect(machine.read(nil) == .search)
        #expect(machine.found(areTokensThere: false) == .write(Self.layout(1)))
        #expect(machine.wrote() == .read)
        #expect(!machine.isKnown)
        // Another role was faster.
        #expect(machine.read(Self.layout(2).text) == .use(Self.layout(2)))
        #expect(machine.isKnown)
    }

    @Test("Tokens and no layout: the role may not begin")
    func gone() {
        var machine = TokenLayoutStateMachine(new: Self.layout(1))
        #expect(machine.read(nil) == .search)
        #expect(machine.found(areTokensThere: true) == .end(.layoutIsGone))
    }

    @Test("A value of a later version: the role may not begin")
    func later() {
        var machine = TokenLayoutStateMachine(new: Self.layout(1))
        #expect(machine.read("4 of another form") == .end(.unknownForm))
        #expect(machine.read("2") == .rest, "it is over")
    }

    @Test("A role whose layout Redis has lost writes it again, and goes on if no other role was faster")
    func lost() {
        var machine = working(by: Self.layout(5))
        #expect(machine.read(nil) == .write(Self.layout(5)))
        #expect(machine.wrote() == .read)
        #expect(machine.read(Self.layout(5).text) == .rest)
    }

    @Test("Another layout than the one at the start ends the role", arguments: ["2", "3 00", "x"])
    func changed(text: String) {
        var machine = working(by: Self.layout(5))
        #expect(machine.read(Self.layout(5).text) == .rest)
        #expect(machine.read(text) == .end(.changed))
        #expect(machine.read(Self.layout(5).text) == .rest, "it is over")
        var other = working(by: Self.layout(5))
        #expect(other.read(nil) == .write(Self.layout(5)))
        #expect(other.wrote() == .read)
        #expect(other.read(Self.layout(6).text) == .end(.changed), "a newcomer was faster")
    }

    @Test(
        "Of several roles that begin at once all work by one layout, in each order of their commands",
        arguments: 1...100
    )
    func race(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var value: String?
        var machines = (0..<4).map { TokenLayoutStateMachine(new: Self.layout($0)) }
        var actions = machines.map { _ in Action.read }
        var used: [TokenLayout] = []
        while used.count < machines.count {
            let index = random.pick(0...3)
            switch actions[index] {
            case .read:
                actions[index] = machines[index].read(value)
            case .search:
                actions[index] = machines[index].found(areTokensThere: false)
            case .write(let layout):
                value = value ?? layout.text
                actions[index] = machines[index].wrote()
            case .use(let layout):
                used.append(layout)
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
