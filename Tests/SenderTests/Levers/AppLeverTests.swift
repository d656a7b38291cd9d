import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A shard under the levers of push.controls.
@Suite("Levers in a shard")
struct AppLeverTests {
    private typealias Bench = ShardBench
    private typealias Transport = EnvironmentSettings.Transport

    private static func accepted(_ bundleID: String, _ bench: Bench, _ transport: Transport) -> [UInt8] {
        transport == .binary ? bench.gateway.accepted(of: bundleID) : bench.service.accepted(of: bundleID)
    }

    /// Records of one token each, published at their tokens' numbers, UNIX milliseconds.
    private static func bring(_ tokens: ClosedRange<UInt8>, of bundleID: String = Bench.news, to bench: Bench) throws {
        for token in tokens {
            bench.publishedAt = Int64(token)
            try bench.bring((bundleID, [token]))
        }
    }

    private static func order(before time: Int64, end: Int64) -> AppControl.Setting {
        .discard(AppControl.Discard(publishedBefore: time, ends: [0: end]))
    }

    // MARK: Pause

    @Test(
        "A paused topic sends nothing and lags at its cursor, others go on; afterwards all of it is sent, in order",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func pause(over transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(1...10, to: bench)
        bench.wait(milliseconds: 2000)
        bench.pull(.pause)
        for token in 11...20 as ClosedRange<UInt8> { try bench.bring((Bench.news, [token]), (Bench.sport, [token])) }
        bench.group.cachedEnd = 30
        bench.wait(milliseconds: 60_000)
        #expect(Self.accepted(Bench.news, bench, transport) == Array(1...10))
        #expect(Self.accepted(Bench.sport, bench, transport) == Array(11...20))
        #expect(bench.committed()?.offset == 30)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 10])
        let report = try #require(bench.shard.report().topics.first { $0.bundleID == Bench.news })
        #expect(report.control.isPaused && report.lagRecords == 20 && report.reason == nil)
        #expect(bench.shard.report().partitions.allSatisfy { $0.waitingRecords == 0 }, "more workers would not help")

        bench.pull()
        bench.wait(milliseconds: 5000)
        #expect(Self.accepted(Bench.news, bench, transport) == Array(1...20))
        #expect(bench.committed()?.metadata == "3;" && bench.committed()?.offset == 30)
        for message in ["topic is paused", "topic goes on"] { #expect(bench.lines.levels(of: message) == [.notice]) }
        #expect(bench.lines.levels(of: "topic works again").isEmpty && bench.lines.messages.isEmpty)
    }

    @Test("A topic that was paused before its first record opens no connection; requests without a window neither")
    func pausedBeforehand() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.pull(.pause)
        bench.assign(0)
        try Self.bring(1...5, to: bench)
        try bench.bring([
            (
                Bench.news,
                .with {
                    $0.coalescingKey = "score"
                    $0.packedTokens = Data(repeating: 6, count: 32)
                }
            )
        ])
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.attempts.isEmpty && bench.gateway.accepted.isEmpty)
        bench.pull()
        bench.wait(milliseconds: 20_000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...6))
    }

    @Test("Notifications that wait for a connection when the topic is paused do not go when the connection comes")
    func takesBack() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(2)
        bench.assign(0)
        try Self.bring(1...10, to: bench)
        bench.wait(milliseconds: 1000)
        bench.pull(.pause)
        bench.gateway.silent = []
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.accepted.isEmpty)
        bench.pull()
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...10))
        #expect(try bench.offsets(.presumed).count + bench.offsets(.confirmed).count == 10)
    }

    @Test("A paused topic that does not work is not probed; when it goes on it is, and nothing is lost")
    func pausedAndStopped() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        bench.assign(0)
        try Self.bring(1...5, to: bench)
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == "topic-refused")
        bench.pull(.pause)
        bench.wait(milliseconds: 2000)
        let attempts = bench.gateway.attempts.count
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.attempts.count == attempts && bench.gateway.accepted.isEmpty)
        bench.pull()
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...5) && bench.reason(Bench.news) == nil)
        #expect(bench.lines.levels(of: "topic works again") == [.notice], "the outage has its end")
    }

    @Test("A topic that stops while it is held back is told of when it would go on")
    func stopsWhilePaused() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(1...2, to: bench)
        bench.wait(milliseconds: 1000)
        bench.pull(.pause)
        bench.wait(milliseconds: 1000)
        let topic = try #require(bench.shard.stages.group.directory.accounts.first?.topic)
        let now = bench.shard.now
        topic.health.change { $0.failed(.topicRefused, now: now, random: 0) }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        try Self.bring(3...4, to: bench)
        bench.wait(milliseconds: 2000)
        #expect(bench.lines.levels(of: "topic does not work; it lags and is probed").isEmpty)
        bench.pull()
        bench.wait(milliseconds: 2000)
        #expect(bench.lines.levels(of: "topic does not work; it lags and is probed") == [.critical])
    }

    @Test("A pause in the middle of a doubted gateway's probe leaves the doubt")
    func pausedWhileDoubted() throws {
        let bench = Bench { $0.worker.invalidTokenSample = 10 }
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .invalidToken }
        bench.assign(0)
        try Self.bring(1...40, to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.news) == "tokens-doubted")
        let topic = try #require(bench.shard.stages.group.directory.accounts.first?.topic)
        bench.gateway.answers = [:]
        try Self.bring(101...140, to: bench)
        // Until one of the sample is accepted.
        for _ in 0..<500 where bench.gateway.accepted.isEmpty { bench.wait(milliseconds: 20) }
        #expect(!bench.gateway.accepted.isEmpty && topic.health.state.reason == .tokensDoubted)
        bench.pull(.pause)
        bench.wait(milliseconds: 1000)
        #expect(topic.health.state.reason == .tokensDoubted)
    }

    // MARK: Discard

    @Test(
        "Requests discarded while their topic is paused end as aborted, each once; newer ones go when the topic does",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func discardPaused(over transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(1...3, to: bench)
        bench.wait(milliseconds: 2000)
        bench.pull(.pause)
        try Self.bring(4...10, to: bench)
        bench.wait(milliseconds: 2000)
        bench.pull(.pause, Self.order(before: 9, end: 10))
        bench.wait(milliseconds: 5000)
        #expect(try bench.offsets(.aborted) == Array(3...7))
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 8])
        bench.pull(Self.order(before: 9, end: 10))
        bench.wait(milliseconds: 5000)
        #expect(Self.accepted(Bench.news, bench, transport) == [1, 2, 3, 9, 10])
        #expect(try bench.offsets(.aborted) == Array(3...7), "no second time")
        #expect(bench.committed()?.offset == 10 && bench.committed()?.metadata == "3;")
    }

    @Test("Requests that wait for a connection when they are discarded end as aborted; the rest goes on")
    func discardWaiting() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(2)
        bench.assign(0)
        try Self.bring(1...10, to: bench)
        bench.wait(milliseconds: 1000)
        bench.pull(Self.order(before: 6, end: 10))
        bench.gateway.silent = []
        bench.wait(milliseconds: 10_000)
        #expect(try bench.offsets(.aborted) == Array(0...4))
        #expect(bench.gateway.accepted(of: Bench.news) == Array(6...10))
        #expect(bench.committed()?.offset == 10 && bench.committed()?.metadata == "3;")
    }

    @Test("A record published after the order goes, however old its time says it is")
    func laterRecords() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.pull(Self.order(before: 100, end: 2))
        try Self.bring(1...4, to: bench)
        bench.publishedAt = nil
        try bench.bring((Bench.news, [5]))
        bench.wait(milliseconds: 3000)
        #expect(try bench.offsets(.aborted) == [0, 1])
        #expect(bench.gateway.accepted(of: Bench.news) == [3, 4, 5])
    }

    @Test("A topic that does not work, and one without a certificate, are discarded as well")
    func discardStopped() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        bench.assign(0)
        try Self.bring(1...5, to: bench)
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == "topic-refused")
        bench.pull(Self.order(before: 4, end: 5))
        bench.wait(milliseconds: 5000)
        #expect(try bench.offsets(.aborted) == [0, 1, 2])
        bench.gateway.missing = [Bench.news]
        bench.wait(milliseconds: 3000)
        bench.pull(Self.order(before: 100, end: 5))
        bench.wait(milliseconds: 5000)
        #expect(try bench.offsets(.aborted) == Array(0...4) && bench.gateway.accepted.isEmpty)
        #expect(bench.committed()?.offset == 5 && bench.committed()?.metadata == "3;")
    }

    @Test("Tokens that have their outcomes keep them; a summary counts the aborted ones")
    func tokensOfOneRecord() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(2)
        bench.publishedAt = 1
        try bench.bring([
            (
                Bench.news,
                .with {
                    $0.requestID = "request"
                    $0.report = .summary
                    $0.packedTokens = Data([1, 2, 3].flatMap { [UInt8](repeating: $0, count: 32) })
                }
            ),
            // Of a wrong length: it ends before the others.
            (
                Bench.news,
                .with {
                    $0.tokens = [
                        .with { $0.raw = Data(repeating: 4, count: 5) },
                        .with { $0.raw = Data(repeating: 5, count: 32) },
                    ]
                }
            ),
        ])
        bench.wait(milliseconds: 1000)
        bench.pull(Self.order(before: 2, end: 2))
        bench.wait(milliseconds: 5000)
        let outcomes = try bench.outcomes()
        let summary = try #require(outcomes.first { $0.kind == .summary })
        #expect(summary.counts.map(\.kind) == [.aborted] && summary.counts.map(\.tokens) == [3])
        let ofSecond = outcomes.filter { $0.sourceOffset == 1 }
        #expect(ofSecond.map(\.kind) == [.deadLettered, .aborted] && ofSecond.map(\.tokenIndex) == [0, 1])
        #expect(bench.committed()?.offset == 2 && bench.gateway.accepted.isEmpty)
    }

    // MARK: Pace

    @Test(
        "A topic with a pace keeps to it, in order, and the others are not slowed down",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func pace(over transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.pull(.pace(notificationsPerSecond: 10))
        for token in 1...60 as ClosedRange<UInt8> { try bench.bring((Bench.news, [token]), (Bench.sport, [token])) }
        var sent = 0
        for second in 1...5 {
            bench.wait(milliseconds: 1000)
            let count = Self.accepted(Bench.news, bench, transport).count
            // A bucket of one second may be full once.
            #expect((second * 10 - 10...second * 10 + 10).contains(count), "after \(second) s")
            #expect(count > sent || second == 1)
            sent = count
        }
        #expect(Self.accepted(Bench.sport, bench, transport) == Array(1...60))
        #expect(bench.shard.report().partitions.allSatisfy { $0.waitingRecords == 0 }, "more workers would not help")
        bench.pull()
        bench.wait(milliseconds: 3000)
        #expect(Self.accepted(Bench.news, bench, transport) == Array(1...60))
    }

    @Test("A pace holds for what had been taken in before it was set")
    func paceOfWaiting() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(2)
        bench.assign(0)
        try Self.bring(1...100, to: bench)
        bench.wait(milliseconds: 1000)
        bench.pull(.pace(notificationsPerSecond: 5))
        bench.gateway.silent = []
        bench.wait(milliseconds: 6000)
        #expect(bench.gateway.accepted(of: Bench.news).count <= 35)
        bench.pull()
        bench.wait(milliseconds: 3000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...100))
    }

    @Test("A record that is fed again and again while its topic does not work is paid for once")
    func paceOfStopped() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        bench.assign(0)
        bench.pull(.pace(notificationsPerSecond: 10))
        for _ in 0..<10 { try bench.bring((Bench.news, Array(1...20))) }
        // Tens of probes.
        bench.wait(milliseconds: 60_000)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 25_000)
        #expect(bench.gateway.accepted(of: Bench.news).count == 200)
    }

    @Test("A discard ends a part of a backlog at a time, so that the loop's other work has its turns")
    func discardsInParts() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.pull(.pause)
        bench.publishedAt = 1
        for _ in 0..<30 {
            try bench.bring([(Bench.news, .with { $0.packedTokens = Data(repeating: 7, count: 32 * 2000) })])
        }
        bench.wait(milliseconds: 1000)
        bench.pull(.pause, Self.order(before: 2, end: 30))
        var ended = 0
        var most = 0
        // Finer than two turns are apart.
        for _ in 0..<20_000 {
            bench.eventLoop.advanceTime(by: .microseconds(50))
            let now = bench.shard.stages.counters.outcomes[.aborted]
            most = max(most, now - ended)
            ended = now
        }
        #expect(ended == 60_000)
        // A turn by itself may fall together with that of a tick.
        #expect(most <= 2 * (ShardLimits.notificationsPerBatch + 2000))
    }

    @Test("A shard that has half of a topic's keys has half of its pace")
    func paceOfShard() throws {
        let source = KeyPlacement.Source(partitionCount: 2) { $0(2) }
        let bench = Bench(placement: source) { $0.apps[Bench.news, default: .init()].spread = 64 }
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.pull(.pace(notificationsPerSecond: 1000))
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        let account = try #require(bench.shard.stages.group.directory.accounts.first)
        let keys = (0..<64).count { KafkaPartitioner.murmur2Partition(key: "\(Bench.news)#\($0)", count: 2) == 0 }
        #expect(account.pace?.perSecond == 1000 * Double(keys) / 64)
        bench.shard.use(AppControls())
        bench.wait(milliseconds: 100)
        #expect(account.pace == nil)
    }
}
