import BelfrySupport
import PipelineCore
import RequestLanes
import Testing

@testable import BelfryTools
@testable import KafkaClient
@testable import PipelineTestSupport

/// The reasons why an app lags, as `belfry offsets show` and `belfry publish --wait` tell them.
@Suite("Reasons of a lag")
struct LagReasonTests {
    private static let news = "com.example.news"
    private static let both = ["production", "sandbox"]
    private static let never: @Sendable (String, String) -> Bool = { _, _ in false }
    /// 2026-11-26T12:00:00.000Z.
    private static let noon: Int64 = 1_795_694_400_000

    private func lever(_ setting: AppControl.Setting, _ environment: String = "production") -> LeverLine {
        LeverLine(
            name: .init(environment: environment, bundleID: Self.news),
            lever: setting.lever,
            setting: setting,
            reason: "the wrong text",
            setAt: Self.noon
        )
    }

    private func reason(
        of environment: String = "production",
        _ levers: [LeverLine]? = [],
        environments: [String] = Self.both,
        hasCredential: ((String, String) -> Bool)? = { _, _ in true }
    ) -> LagReason {
        LagReasons(environments: environments, levers: levers, hasCredential: hasCredential)
            .reason(of: .init(bundleID: Self.news, environment: environment), in: .normal)
    }

    @Test("A pause counts before a missing credential, that before a pace, and a discard is no reason")
    func order() {
        let pause = lever(.pause)
        let pace = lever(.pace(notificationsPerSecond: 7))
        let discard = lever(.discard(.init(publishedBefore: 1, ends: [:])))
        #expect(reason([discard, pace, pause], hasCredential: Self.never) == .lever(pause))
        #expect(reason([discard, pace], hasCredential: Self.never) == .credentialMissing(environment: "production"))
        #expect(reason([discard, pace]) == .lever(pace))
        #expect(reason([discard]) == .unknown(notLookedAt: []))
    }

    @Test("Levers are those that hold in the lane; of two paces it is the lane's own")
    func lanes() {
        func reason(_ levers: [LeverLine], in lane: RequestLane) -> LagReason {
            LagReasons(environments: Self.both, levers: levers) { _, _ in true }
                .reason(of: .init(bundleID: Self.news, environment: "production"), in: lane)
        }
        let pace = lever(.pace(notificationsPerSecond: 7))
        var ofBulk = pace
        ofBulk.lane = .bulk
        ofBulk.setting = .pace(notificationsPerSecond: 5)
        #expect(reason([pace, ofBulk], in: .urgent) == .unknown(notLookedAt: []))
        #expect(reason([pace, ofBulk], in: .normal) == .lever(pace))
        #expect(reason([pace, ofBulk], in: .bulk) == .lever(ofBulk))
        #expect(reason([ofBulk], in: .bulk).text.hasPrefix("at most 5/s in lane bulk in production since "))
        let pause = lever(.pause)
        for lane in RequestLane.allCases { #expect(reason([pace, pause], in: lane) == .lever(pause)) }
        var ofUrgent = pause
        ofUrgent.lane = .urgent
        #expect(reason([ofUrgent], in: .urgent) == .lever(ofUrgent))
        #expect(reason([ofUrgent], in: .bulk) == .unknown(notLookedAt: []))
    }

    @Test("Levers and credentials are those of the environment that is meant; a name left out means the only one")
    func environments() {
        let pause = lever(.pause, "sandbox")
        #expect(reason([pause]) == .unknown(notLookedAt: []))
        #expect(reason(of: "sandbox", [pause]) == .lever(pause))
        let only = reason(of: "", environments: ["sandbox"], hasCredential: { $1 == "production" })
        #expect(only == .credentialMissing(environment: "sandbox"))
        // With several the workers refuse such records; without any those of this machine say nothing.
        #expect(reason(of: "", [pause]) == .lever(pause))
        let none = reason(of: "", environments: [], hasCredential: Self.never)
        let other = reason(of: "other", hasCredential: Self.never)
        #expect(none == .unknown(notLookedAt: ["credentials"]) && other == none)
    }

    @Test("A place that could not be looked at is told, not taken for empty")
    func notLookedAt() {
        #expect(reason(nil, hasCredential: nil) == .unknown(notLookedAt: ["levers", "credentials"]))
        #expect(reason(nil, hasCredential: nil).text.hasSuffix("; not known here: levers, credentials"))
        #expect(reason(nil, hasCredential: Self.never) == .credentialMissing(environment: "production"))
    }

    @Test("A reason is told in words: a lever with its time and the operator's reason")
    func words() {
        #expect(
            reason([lever(.pause)]).text == "paused in production since 2026-11-26T12:00:00.000Z: the wrong text"
        )
        #expect(reason([lever(.pause)]).name == "paused")
        #expect(reason([lever(.pace(notificationsPerSecond: 7))]).name == "paced")
        #expect(reason(hasCredential: Self.never).name == "certificate-missing" && reason().name == "unknown")
    }

    @Test("A wait tells of an app that stands, of workers that have not come to it, and of nothing that is done")
    func waits() {
        func text(_ reason: LagReason, _ progress: PartitionPosition.Progress...) -> String? {
            WaitObstacle.text(bundleID: Self.news, groupID: "belfry-worker", reason, progress)
        }
        let unknown = reason()
        #expect(
            text(reason([lever(.pause)])) == """
                com.example.news stands: paused in production since 2026-11-26T12:00:00.000Z: the wrong text
                """
        )
        let pace = text(reason([lever(.pace(notificationsPerSecond: 7))]), .behind)
        #expect(pace?.hasPrefix("com.example.news is held back: at most 7/s in production") == true)
        let missing = text(reason(hasCredential: Self.never), .unread)
        #expect(missing?.hasPrefix("com.example.news stands: this configuration") == true)
        #expect(text(unknown, .done, .behind)?.hasPrefix("com.example.news lags, its requests are read") == true)
        #expect(text(unknown, .behind, .unread)?.hasPrefix("group belfry-worker has not come to the requests") == true)
        #expect(text(unknown, .unread, .standing)?.hasPrefix("a partition with its requests stands") == true)
        #expect(text(unknown, .done) == nil && text(unknown) == nil)
        let bulk = WaitObstacle.text(
            bundleID: Self.news,
            groupID: "belfry-worker.bulk",
            lane: .bulk,
            unknown,
            [.unread]
        )
        let words = "group belfry-worker.bulk has not come to the requests yet: no worker serves lane bulk, or all are "
        #expect(bulk?.hasPrefix(words) == true)
    }

    @Test("A wait looks at the group, the Kafka topic and the levers of its lane")
    func laneOfWait() throws {
        let topics = ["push.requests.bulk", "push.controls"].map { (name: $0, partitions: 1) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        try broker.publishBatch(
            to: "push.requests.bulk",
            (0..<9).map { _ in (Array(Self.news.utf8), Array("x".utf8)) }
        )
        var configuration = BelfryConfiguration()
        configuration.kafka.brokers = broker.bootstrapServers
        configuration.environments = [EnvironmentSettings(name: "production", gateways: [])]
        let obstacle = WaitObstacle(configuration, bundleID: Self.news, environment: "", lane: .bulk)
        #expect(obstacle.text(unfinished: [0: 3])?.hasPrefix("group belfry-worker.bulk has not come") == true)
        let positions = try GroupPositions(configuration, lane: .bulk)
        defer { positions.close() }
        try positions.carryOut(positions.plan(PositionOrder(partition: 0, target: .offset(5))))
        #expect(obstacle.text(unfinished: [0: 3]) == nil)
        for (lane, isHeld) in [(.urgent, false), (.bulk, true)] as [(RequestLane, Bool)] {
            let order = try LeverOrder(
                .pause,
                of: Self.news,
                environment: nil,
                lane: lane,
                configuration: configuration
            )
            _ = try LeverCommands.set(order, through: configuration.kafka)
            let words = obstacle.text(unfinished: [0: 3])?.prefix { $0 != ":" }
            #expect(words == (isHeld ? "com.example.news stands" : nil), "paused in lane \(lane)")
        }
    }

    @Test("An app without a lever is found to lag, or not to be read, by the group's commit; a paused one by its lever")
    func broker() throws {
        let topics = ["push.requests", "push.controls"].map { (name: $0, partitions: 1) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        try broker.publishBatch(to: "push.requests", (0..<9).map { _ in (Array(Self.news.utf8), Array("x".utf8)) })
        var configuration = BelfryConfiguration()
        configuration.kafka.brokers = broker.bootstrapServers
        configuration.environments = [EnvironmentSettings(name: "production", gateways: [])]
        let obstacle = WaitObstacle(configuration, bundleID: Self.news, environment: "")
        #expect(obstacle.text(unfinished: [0: 3])?.hasPrefix("group belfry-worker has not come") == true)
        let positions = try GroupPositions(configuration)
        defer { positions.close() }
        try positions.carryOut(positions.plan(PositionOrder(partition: 0, target: .offset(5))))
        #expect(obstacle.text(unfinished: [0: 3]) == nil)
        let target = PositionOrder.Target.cursor(2, bundleID: Self.news, environment: "")
        try positions.carryOut(positions.plan(PositionOrder(partition: 0, target: target)))
        #expect(obstacle.text(unfinished: [0: 3])?.hasPrefix("com.example.news lags, ") == true)
        #expect(obstacle.text(unfinished: [0: 1]) == nil)
        let lagging = try #require(try positions.all().first)
        #expect(lagging.text.contains("\n    why: its gateway refuses or does not answer"))
        let order = try LeverOrder(.pause, of: Self.news, environment: nil, configuration: configuration)
        _ = try LeverCommands.set(order, through: configuration.kafka)
        #expect(obstacle.text(unfinished: [0: 3])?.hasPrefix("com.example.news stands: paused in production") == true)
        let paused = try #require(try positions.all().first)
        #expect(paused.text.contains("\n    why: paused in production since "))
        #expect(paused.json.contains(#","why":"paused","why_text":"paused in production since "#))
    }
}
