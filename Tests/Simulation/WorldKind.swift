/// A kind of worlds, one for each seed.
protocol WorldKind: Sendable {
    /// Lets the world of a seed live to its end.
    func play(_ seed: UInt64) -> PlayedWorld

    /// Tells a failing seed's story, shrunk to few faults; nil: the seed does not fail.
    ///
    /// - Parameter lines: most lines of what happened; the last ones count.
    func story(of seed: UInt64, lines: Int) -> Story?
}

/// The result of a seed's world.
struct PlayedWorld: Sendable {
    /// The same for the same seed and code.
    var hash: UInt64
    var events: Int
    /// The promise that was broken; nil: none.
    var violation: String?
}

/// The sender's worlds.
struct SenderWorlds: WorldKind {
    /// The features that the seeds choose from, and the auditor's rules.
    var features = Features.current
    var checks = Checks.current
    /// Every topic goes over HTTP/2.
    var isOverStreams = false

    func plan(_ seed: UInt64) -> WorldPlan {
        WorldPlan(seed: seed, features: features, checks: checks, isOverStreams: isOverStreams)
    }

    func play(_ seed: UInt64) -> PlayedWorld {
        let report = World(plan(seed)).run()
        return PlayedWorld(hash: report.hash, events: report.events, violation: report.violation.map { "\($0)" })
    }

    func story(of seed: UInt64, lines: Int) -> Story? {
        let whole = plan(seed)
        guard let violation = World(whole).run().violation else { return nil }
        return Story(whole, violation: violation, lines: lines)
    }
}

/// The worlds of registrars, harvesters and keepers of push.tombstones.
struct ApplierWorlds: WorldKind {
    func play(_ seed: UInt64) -> PlayedWorld {
        let report = ApplyingWorld(ApplyingPlan(seed: seed)).run()
        return PlayedWorld(hash: report.hash, events: report.events, violation: report.violation.map { "\($0)" })
    }

    func story(of seed: UInt64, lines: Int) -> Story? {
        let whole = ApplyingPlan(seed: seed)
        guard let violation = ApplyingWorld(whole).run().violation else { return nil }
        return Story(whole, violation: violation, lines: lines)
    }
}
