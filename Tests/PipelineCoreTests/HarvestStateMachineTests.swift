import PipelineCore
import Testing

/// When feedback lists are read, and how far ahead of what is safe.
@Suite struct HarvestStateMachineTests {
    /// Every world that can come of one, each once; the path to the first that breaks a rule.
    private func explore(
        _ first: HarvestWorld,
        depth: Int,
        visit: (HarvestWorld) throws -> Void = { _ in }
    ) throws -> Int {
        var seen: Set<HarvestWorld> = [first]
        var frontier = [first]
        for _ in 0..<depth {
            var next: [HarvestWorld] = []
            for world in frontier {
                for event in world.possible {
                    var changed = world
                    do {
                        try changed.happen(event)
                        if seen.insert(changed).inserted {
                            try visit(changed)
                            next.append(changed)
                        }
                    } catch {
                        Issue.record("\(event) in \(world): \(error)")
                        return seen.count
                    }
                }
            }
            frontier = next
            if frontier.isEmpty { break }
        }
        return seen.count
    }

    /// All goes well from now on.
    private func finish(_ world: HarvestWorld) throws -> HarvestWorld {
        var world = world
        var steps = 0
        while !world.isAtRest {
            guard let event = Self.smooth.first(where: { world.possible.contains($0) }) ?? world.possible.first else {
                throw HarvestWorld.Violation(description: "it waits for what does not come: \(world)")
            }
            try world.happen(event)
            steps += 1
            guard steps < 200 else { throw HarvestWorld.Violation(description: "it comes to no end: \(world)") }
        }
        return world
    }

    /// Answers come before timers.
    private static let smooth: [HarvestWorld.Event] = [
        .brokerAnswers, .leaseAnswers, .releaseAnswers, .opens, .brokerAcknowledges, .closed, .socketIsRead,
        .serviceSends, .serviceCloses, .timer,
    ]

    @Test("Killed, cut, stopped or left alone at any step of its run, it keeps every rule, and reads on to the end")
    func everyStep() throws {
        var kills = 0
        let count = try explore(HarvestWorld(tuples: 3, faults: 2, timers: 4), depth: 30) { world in
            if world.lostByKill > 0 { kills += 1 }
            guard world.faults == 0 else { return }
            let end = try finish(world.withTimers(60))
            guard !end.hasStopped else { return }
            #expect(end.log + end.lostWithConnection + end.lostByKill == 3)
        }
        #expect(count > 10_000)
        #expect(kills > 100, "the read-ahead was there to lose")
    }
}
