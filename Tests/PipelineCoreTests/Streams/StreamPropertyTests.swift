import PipelineCore
import Testing

/// Queues and a pool against a naive model, over many seeds; see ``StreamAuditor`` for the checks.
@Suite struct StreamPropertyTests {
    private func run(_ seeds: ClosedRange<UInt64>, _ options: StreamWorld.Options) {
        var openings = 0
        var rotations = 0
        var resent = 0
        var poisoned = 0
        var findings = 0
        for seed in seeds {
            let world = StreamWorld(seed: seed, options: options)
            let isDone = world.run()
            if isDone { world.auditor.close() }
            openings += world.openings
            rotations += world.rotations
            resent += world.auditor.resent
            poisoned += world.auditor.poisoned
            findings += world.auditor.findings
            let faults = world.auditor.faults
            #expect(isDone, "seed \(seed) does not come to an end: \(world.steps) steps")
            #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5))")
            guard isDone, faults.isEmpty else { return }
        }
        // A world in which nothing happens proves nothing.
        #expect(openings > seeds.count && findings > 0)
        #expect(options.fails == (rotations > 0), "certificates are replaced")
        #expect(options.policy != .resend || (options.fails || options.poisons) == (resent > 0))
        #expect(!options.poisons || poisoned > 0)
    }

    @Test("Without faults a token has one request in flight and keeps its order, and each has one true outcome")
    func faultless() {
        run(1...60, .init(fails: false))
        run(1...40, .init(fails: false, startsWithOneStream: true))
    }

    @Test("Lost connections, goodbyes, refusals, resets and silence lose nothing and make no outcome wrong")
    func faults() {
        run(1...150, .init(tokens: 20))
        run(1...100, .init(startsWithOneStream: true, tokens: 5))
    }

    @Test("A notification that ends its connections is refused in the end, and no other one for its sake")
    func poison() {
        run(1...60, .init(fails: false, poisons: true, notifications: 150))
        run(1...40, .init(removes: true, poisons: true, notifications: 150, tokens: 30))
    }

    @Test("By the other policies each gets one outcome as well")
    func otherPolicies() {
        run(1...60, .init(policy: .presume))
        run(1...60, .init(policy: .giveUp, removes: true))
    }

    @Test("Partitions that go, and notifications that are taken away, are not sent, and the others keep order")
    func removals() {
        run(1...150, .init(removes: true))
        run(1...50, .init(fails: false, removes: true, tokens: 3))
    }
}
