import Testing

@testable import PipelineCore

/// A lane against a brute-force gateway, over many seeds; see ``LaneAuditor`` for what is checked.
@Suite struct LanePropertyTests {
    private func run(_ seeds: ClosedRange<UInt64>, _ options: LaneWorld.Options) {
        var presumedWrong = 0
        var connections = 0
        var sentinels = 0
        var deadPeers = 0
        var poisoned = 0
        for seed in seeds {
            let world = LaneWorld(seed: seed, options: options)
            let isDone = world.run()
            if isDone { world.auditor.close(by: world.gateway) }
            presumedWrong += world.auditor.presumedWrong
            connections += world.connections
            sentinels += world.sentinels
            deadPeers += world.deadPeers
            poisoned += world.auditor.poisoned
            let faults = world.auditor.faults
            #expect(isDone, "seed \(seed) does not come to an end: \(world.steps) steps")
            #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5))")
            guard isDone, faults.isEmpty else { return }
        }
        // A world in which nothing happens proves nothing.
        #expect(connections > seeds.count * 4)
        #expect(options.retires == (sentinels > seeds.count / 2))
        #expect(options.isPunctual == (presumedWrong == 0))
        #expect(options.deafens == (deadPeers > 0))
        #expect(options.poisons == (poisoned > 0))
    }

    @Test("A peer that acknowledges nothing any more is found dead, no token is blamed, all ends and nothing is lost")
    func deadPeers() {
        run(1...150, .init(acknowledges: true, deafens: true))
        run(1...50, .init(policy: .giveUp, acknowledges: true, deafens: true))
        run(1...50, .init(acknowledges: true, retires: true, poisons: true, deafens: true))
    }

    @Test("A notification on which the gateway closes without a word is refused, and no other one for its sake")
    func poison() {
        run(1...100, .init(poisons: true))
        run(1...50, .init(acknowledges: true, revokes: true, poisons: true))
        run(1...50, .init(isPunctual: false, revokes: true, poisons: true))
    }

    @Test("A punctual gateway loses nothing, confirmed and presumed are true, order holds", arguments: [false, true])
    func punctual(revokes: Bool) {
        run(1...400, .init(revokes: revokes))
    }

    @Test(
        "Of a gateway that is punctual from its kernel on nothing is presumed wrongly, however long bytes lie here",
        arguments: UnknownFatePolicy.allCases
    )
    func acknowledged(policy: UnknownFatePolicy) {
        run(1...300, .init(policy: policy, acknowledges: true))
        run(1...100, .init(policy: policy, acknowledges: true, revokes: true))
    }

    @Test("Notifications waiting for a refused token are silenced once and never sent; the others keep their promises")
    func remembers() {
        run(1...200, .init(tokens: 40, remembers: true))
        run(1...100, .init(acknowledges: true, revokes: true, tokens: 40, remembers: true))
        run(1...100, .init(isPunctual: false, isHonest: false, revokes: true, tokens: 40, remembers: true))
    }

    @Test("With sentinels, answered or not, confirmed and presumed are true, nothing follows one, and all ends")
    func sentinels() {
        for policy in UnknownFatePolicy.allCases {
            run(1...200, .init(policy: policy, retires: true))
            run(1...100, .init(policy: policy, acknowledges: true, revokes: true, retires: true))
        }
        run(1...200, .init(isPunctual: false, revokes: true, retires: true))
        run(1...100, .init(isPunctual: false, isHonest: false, acknowledges: true, retires: true, remembers: true))
    }

    @Test("By the other policies each has one outcome, and nothing is accepted twice after it was given up")
    func otherPolicies() {
        run(1...200, .init(policy: .presume))
        run(1...200, .init(policy: .giveUp))
        run(1...100, .init(policy: .presume, revokes: true))
        run(1...100, .init(policy: .giveUp, revokes: true))
    }

    @Test(
        "Late answers: confirmed stays true, order holds, what was presumed wrongly is found",
        arguments: [false, true]
    )
    func late(revokes: Bool) {
        run(1...400, .init(isPunctual: false, revokes: revokes))
        run(1...200, .init(isPunctual: false, acknowledges: true, revokes: revokes))
    }

    @Test(
        "Answers out of nothing and made-up identifiers: still one outcome each, and an end",
        arguments: [false, true]
    )
    func dishonest(isPunctual: Bool) {
        run(1...300, .init(isPunctual: isPunctual, isHonest: false))
        run(1...100, .init(policy: .presume, isPunctual: isPunctual, isHonest: false, revokes: true))
        run(1...100, .init(policy: .giveUp, isPunctual: isPunctual, isHonest: false, revokes: true))
    }
}
