import Testing

@testable import belfry_simulate

@Suite struct SimulationTests {
    /// The features that known seeds had to choose from: one that came later would change their worlds.
    private static let first = Features(Features.named.prefix(24).map(\.feature))
    private static let later = Features(Features.named.prefix(29).map(\.feature))
    private static let withStreams = Features(Features.named.prefix(30).map(\.feature))
    private static let withReplacements = Features(Features.named.prefix(37).map(\.feature))
    private static let withRefusals = Features(Features.named.prefix(46).map(\.feature))
    private static let withCuts = Features(Features.named.prefix(47).map(\.feature))
    private static let withoutLanes = Features(Features.named.prefix(48).map(\.feature))
    private static let withWarmth = Features(Features.named.prefix(51).map(\.feature))

    @Test("Every field of the last line stands in the help")
    func fields() {
        #expect(SimulateCommand.fields.unexplained(SimulateCommand.fieldNames) == [])
    }

    @Test(
        "A service that refuses a topic for a time costs each worker fewer than twenty of its notifications",
        arguments: 1...6 as ClosedRange<UInt64>
    )
    func disallowedTopic(seed: UInt64) {
        var plan = WorldPlan(seed: seed, features: [], isOverStreams: true)
        plan.faults = [Fault(.topicDisallowed, at: .milliseconds(500), lasting: .seconds(20), topic: 0)]
        let world = World(plan)
        #expect(world.run().violation == nil)
        #expect(!world.gateways[0].disallowed.isEmpty)
    }

    @Test("The same seed does the same, event by event", arguments: [1, 2, 3, 40] as [UInt64])
    func determinism(seed: UInt64) {
        let first = World(WorldPlan(seed: seed)).run()
        let second = World(WorldPlan(seed: seed)).run()
        #expect(first.events > 500)
        #expect(first.events == second.events && first.hash == second.hash)
        #expect(World(WorldPlan(seed: seed + 1)).run().hash != first.hash)
    }

    /// Seeds that once failed, by the features that they had to choose from, each with what it met.
    private static let known: [(features: Features, met: String, seeds: [UInt64])] = [
        ([], "a group that moves on before an assignment was answered", [1728, 3180, 4841]),
        ([], "a commit taken up again, tombstones on the word of a wrong gateway", [6280, 29_869]),
        ([], "a standstill before an assignment, a loss beside a giving back, a late refusal", [6283, 6535, 6867]),
        (first, "a token whose state cannot be read is mended before it is sent to", [36_833]),
        (first, "acceptances from before the gateway went wrong end no row of refusals", [323_376]),
        (first, "a window and requests that Redis is late for, a resume before the log", [3902, 4245, 10_602]),
        (first, "superseded by one that is remembered, and both read again", [24_638, 25_843, 28_080, 63_897]),
        (later, "newer than a request that Redis was not told of", [15_981]),
        (
            later, "slow topics, given up bytes, outcomes before a repetition",
            [701_860, 26_760, 31_859, 23_944, 35_383]
        ),
        (withStreams, "a peer that allows no stream and falls silent while its topic is probed", [70_469, 83_786]),
        (withStreams, "SETTINGS that overtake, stamps alike, poison given up", [32_061, 62_146, 74_558, 74_959]),
        (withStreams, "presumed by policy, accepted between wrong phases", [464, 1375, 10_031, 15_281, 15_318]),
        (withReplacements, "given up unanswered, a repetition that alone has a badge", [304_648, 513_627]),
        (withReplacements, "bad tokens among sick topics, an end within a repetition", [19_464, 99_254, 501_840]),
        (
            withReplacements, "a window that fills the credit, newer ones done behind a late outcome",
            [104_595, 201_117]
        ),
        (withRefusals, "owners that differ: badges, many tokens in JSON, no end of a grace", [241, 659, 560, 3435]),
        (
            withRefusals, "records refused by the next owner beside topics that hold the offset, and met twice",
            [11_093, 15_424, 16_235, 17_722, 18_261, 21_146]
        ),
        (
            withRefusals, "a worker's clock a minute ahead where that of Redis is hours ahead",
            [10_512, 13_934, 16_516, 16_530, 16_894, 19_038]
        ),
        (withRefusals, "newer ones done behind a refused outcome, sent after all", [12_009, 13_865]),
        (withoutLanes, "a certificate that is refused before the topic has noted that it is another", [33_957]),
        (withoutLanes, "a repeated request that goes without Redis, and after a crash is a duplicate", [500_055]),
        (withCuts, "batches that others pass are beside the limit", [701_166]),
        (withCuts, "refused records from the offset on, a suspension", [4366, 5026, 7620, 41_729]),
        (withWarmth, "a certificate that another lane sees when it was refused", [6840]),
        (withWarmth, "two copies of one record in a batch", [2_000_071, 2_002_684]),
        (withWarmth, "a certificate that is refused shortly before a stop ends", [74_823, 76_676, 93_344]),
    ]

    @Test("Seeds that are known to have failed pass", arguments: known.indices)
    func knownSeeds(index: Int) {
        let (features, met, seeds) = Self.known[index]
        for seed in seeds {
            #expect(World(WorldPlan(seed: seed, features: features)).run().violation == nil, "\(seed): \(met)")
        }
    }

    @Test("Where sending goes on without Redis, a window never lets the older one go after the newer")
    func windowWithoutRedis() {
        let features = Self.first.subtracting([
            .halfDead, .sick, .isolation, .retention, .largeRecords, .manyTopics, .forGood,
        ])
        #expect(World(WorldPlan(seed: 345, features: features)).run().violation == nil)
    }

    @Test("Commits that arrive when the group has moved on are refused, and break nothing", arguments: [true, false])
    func deferredCommits(isInClient: Bool) {
        var refused = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            var plan = WorldPlan(seed: seed, features: [])
            plan.faults = [
                Fault(.commitsDeferred(isInClient: isInClient), at: .seconds(2), lasting: .seconds(8)),
                Fault(.rebalance, at: .milliseconds(2500)),
            ]
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            refused += report.story.count { $0.contains("may not commit") }
        }
        #expect(refused > 0)
    }

    @Test(
        "Records wait for their certificate, and become dead letters after the grace only if no token is registered",
        arguments: [(1, false, true), (1, true, false), (3600, false, false)]
    )
    func lateCertificate(graceSeconds: Int, hasRegistrations: Bool, givesUp: Bool) {
        for seed in 1...4 as ClosedRange<UInt64> {
            var plan = WorldPlan(seed: seed, features: [])
            plan.faults = []
            plan.options.publishesAll = true
            plan.options.certificateGaps = [.init(topic: 0, from: 0, lasting: .seconds(6))]
            plan.options.certificateGrace = .seconds(graceSeconds)
            plan.options.hasRegistrations = hasRegistrations
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            #expect(report.story.contains { $0.contains("bundle-without-certificate") } == givesUp)
        }
    }

    @Test("A certificate that goes is kept by running workers, and missed by those that start")
    func goneCertificate() {
        for seed in 1...4 as ClosedRange<UInt64> {
            var plan = WorldPlan(seed: seed, features: [])
            plan.options.certificateGaps = [.init(topic: 0, from: .seconds(2), lasting: .seconds(8))]
            plan.options.certificateGrace = .seconds(3600)
            plan.faults = [Fault(.crash, at: .seconds(3), lasting: .milliseconds(100))]
            #expect(World(plan).run().violation == nil)
        }
    }

    @Test("With a filter of dead tokens Redis is asked for few, be the filter late, and tokens register again")
    func filter() {
        for seed in 1...8 as ClosedRange<UInt64> {
            var plan = WorldPlan(seed: seed, features: [])
            plan.options.invalidTokens = 8
            plan.faults = []
            let plain = World(plan)
            #expect(plain.run().violation == nil)

            plan.options.filterMaxAge = .seconds(2)
            let filtered = World(plan)
            #expect(filtered.run().violation == nil)
            #expect(filtered.redis.lookUps < plain.redis.lookUps)

            plan.faults = [
                Fault(.registrations, at: .seconds(4)), Fault(.registrations, at: .seconds(7)),
                Fault(.tombstonesAway, at: .seconds(5), lasting: .seconds(4)),
            ]
            #expect(World(plan).run().violation == nil)
        }
    }

    @Test(
        "An owner that begins far from laggards, or soon leaves them behind, reads for them apart and breaks nothing",
        arguments: [0, 10_000] as [Int64]
    )
    func farLaggards(records: Int64) {
        var readings = 0
        for seed in 1...6 as ClosedRange<UInt64> {
            var plan = WorldPlan(seed: seed, features: [])
            plan.options.near = .init(records: records, bytes: 500)
            plan.faults = [Fault(.crash, at: .seconds(2), lasting: .milliseconds(500))]
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            readings += report.story.count { $0.contains("records again") }
        }
        #expect(readings > 0)
    }

    @Test("Topics without room for their names hold the offset, which costs no notification")
    func fewNames() {
        var held = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            var dice = Dice(seed: seed)
            var plan = WorldPlan(seed: seed, features: [])
            plan.nameFew(&dice)
            #expect(plan.options.topics >= 6 && plan.options.sick.count >= 2)
            let world = World(plan)
            #expect(world.run().violation == nil)
            held += world.auditor.heldCommits
        }
        #expect(held > 0)
    }

    @Test("Healthy topics are on time beside every kind of sick one", arguments: WorldPlan.Sickness.Kind.later)
    func otherSicknesses(kind: WorldPlan.Sickness.Kind) {
        for seed in 1...6 as ClosedRange<UInt64> {
            var dice = Dice(seed: seed)
            var plan = WorldPlan(seed: seed, features: [])
            plan.faults = []
            plan.options.isIsolated = true
            plan.options.inFlight = 100
            plan.options.connectionMaxAge = 0
            plan.options.connectionsPerMinute = 60
            plan.sicken(kind, &dice)
            #expect(plan.options.sick.map(\.kind) == [kind])
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            #expect(report.story.contains { $0.contains("is sick from now on") })
        }
    }

    @Test("Calls of the consumer that fail at once lose nothing, and a worker that cannot take its partitions ends")
    func failingCalls() {
        var ended = 0
        for seed in 1...8 as ClosedRange<UInt64> {
            var dice = Dice(seed: seed)
            var plan = WorldPlan(seed: seed, features: [])
            plan.faults = [Fault(.commitsThrow, at: .seconds(2), lasting: .seconds(3))]
            plan.failAssignment(&dice)
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            ended += report.story.count { $0.contains("is killed") }
        }
        #expect(ended > 0)
    }

    @Test("A feature that a seed does not choose changes nothing, and plain worlds have none")
    func features() {
        for seed in 1...40 as ClosedRange<UInt64> {
            let plain = WorldPlan(seed: seed, features: [])
            let wide = WorldPlan(seed: seed, features: .all)
            #expect(wide.notificationCount > 0)
            #expect(plain.options.sick.isEmpty && plain.options.topics == WorldPlan.plainTopics)
            #expect(plain.records.allSatisfy { $0.form == .protobuf && $0.poison.isEmpty && $0.expires == 0 })
        }
        #expect((1...40).contains { WorldPlan(seed: $0, features: .all) == WorldPlan(seed: $0, features: []) })
        #expect((1...40).contains { WorldPlan(seed: $0, features: .all) != WorldPlan(seed: $0, features: []) })
    }

    @Test("Telling the story changes nothing")
    func story() {
        let plan = WorldPlan(seed: 5)
        let told = World(plan, tells: true).run()
        #expect(told.hash == World(plan).run().hash)
        #expect(told.story.count == told.events)
    }

    @Test(
        "A plain world is as large as promised: 2 workers, 2 partitions, 3 topics, 500 notifications, 5 faults at least"
    )
    func size() {
        for seed in 1...50 as ClosedRange<UInt64> {
            let plan = WorldPlan(seed: seed, features: [])
            #expect(plan.options.workers >= 2 && plan.options.partitions >= 2)
            #expect(Set(plan.records.map(\.topic)).count == 3)
            #expect(plan.notificationCount >= 500 && plan.faults.count >= 5)
        }
    }

    @Test("Seeds on several threads come to what they come to on one, and break nothing")
    func threads() {
        let worlds = SenderWorlds()
        let one = Simulation(worlds: worlds, first: 100, count: 24, threads: 1, replayedPercent: 0).run { _, _ in }
        let four = Simulation(worlds: worlds, first: 100, count: 24, threads: 4, replayedPercent: 50).run { _, _ in }
        #expect(one.failed == [] && four.failed == [] && four.unstable == [])
        #expect(one.hash == four.hash && one.events == four.events)
        #expect(four.replayed == 24)
    }

    @Test("A failing plan is cut down to the faults and records it needs")
    func shrinking() {
        let whole = WorldPlan(seed: 7)
        let needed = (record: whole.records[57], fault: whole.faults[2])
        var shrinker = Shrinker(whole) { $0.records.contains(needed.record) && $0.faults.contains(needed.fault) }
        let plan = shrinker.shrink()
        #expect(plan.records == [needed.record])
        #expect(plan.faults == [needed.fault])
    }
}
