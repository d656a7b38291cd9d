import APNsProtocol
import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Effects of one topic on the others of its partition.
@Suite("The topics of a partition")
struct ShardTopicTests {
    private typealias Bench = ShardBench

    /// One after the other of a topic that does not work and one that does.
    private func bringBoth(_ count: UInt8, to bench: Bench) throws {
        for token in 1...count { try bench.bring((Bench.sport, [token]), (Bench.news, [100 + token])) }
    }

    // MARK: Credit

    @Test("A topic without credit is passed over while the others go on, and caught up in order when it has some again")
    func credit() throws {
        let bench = Bench { $0.worker.maxUncommitted = 4 }
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.sport]
        bench.gateway.timeout = .seconds(5)
        bench.assign(0)
        for token in 1...10 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        try bench.bring((Bench.news, [51]), (Bench.news, [52]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [51, 52] && bench.gateway.accepted(of: Bench.sport).isEmpty)
        let report = try #require(bench.shard.report().partitions.first)
        #expect(report.uncommitted == 4 && report.behind == 1)
        #expect(bench.committed()?.offset == 12)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])

        bench.gateway.silent = []
        bench.wait(milliseconds: 20_000)
        #expect(bench.gateway.accepted(of: Bench.sport) == Array(1...10))
        #expect(bench.committed()?.offset == 12 && bench.committed()?.metadata == "3;")
        #expect(bench.shard.report().partitions.first?.behind == 0)
    }

    @Test("A reader that topics needed to catch up is closed when it has been idle")
    func idleReader() throws {
        let bench = Bench { $0.worker.maxUncommitted = 1 }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.news, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2, 3])
        #expect(!bench.reader.begins.isEmpty && !bench.reader.isClosed)
        bench.wait(milliseconds: 40_000)
        #expect(bench.reader.isClosed)
    }

    // MARK: Topics that do not work

    @Test("A topic that does not work lags alone at its own cursor; when it works again all of it is sent, in order")
    func refusedTopic() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.sport] = { _ in .missingTopic }
        bench.assign(0)
        try bringBoth(20, to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(101...120))
        #expect(bench.gateway.accepted(of: Bench.sport).isEmpty)
        #expect(bench.committed()?.offset == 40)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])
        #expect(bench.lines.messages.count { $0.contains("it lags and is probed") } == 1)
        #expect(bench.shard.report().topics.first { $0.bundleID == Bench.sport }?.reason == "topic-refused")

        bench.gateway.answers = [:]
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.sport) == Array(1...20))
        #expect(bench.committed()?.offset == 40 && bench.committed()?.metadata == "3;")
        #expect(try bench.offsets(.presumed).count == 40)
    }

    @Test("The next owner after a worker that died while a topic lagged sends what lagged, and only that")
    func takeOver() throws {
        let first = Bench()
        first.gateway.answers[Bench.sport] = { _ in .missingTopic }
        first.assign(0)
        try bringBoth(20, to: first)
        first.wait(milliseconds: 5000)
        let committed = try #require(first.committed())
        // It dies: nothing it would still say is heard.
        first.shard.leave()

        let second = Bench(committed: committed.offset, metadata: committed.metadata)
        defer { second.shard.leave() }
        second.assign(0)
        let start = try #require(second.group.answers.first?.first?.offset)
        second.reader.records = first.reader.records
        second.group.batches.append(KafkaBatch(first.reader.records.filter { $0.offset >= start }))
        second.wait(milliseconds: 5000)
        #expect(second.gateway.accepted(of: Bench.sport) == Array(1...20))
        #expect(second.gateway.accepted(of: Bench.news).isEmpty)
        #expect(second.committed()?.offset == 40 && second.committed()?.metadata == "3;")
    }

    @Test("An expired record at the cursor of a topic that does not work ends there, and the next is looked at")
    func expires() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.sport] = { _ in .missingTopic }
        bench.assign(0)
        func request(_ token: UInt8, expiresAt expiration: Int64) -> (String, PushSendRequest) {
            (
                Bench.sport,
                .with {
                    $0.expiration = expiration
                    $0.packedTokens = Data(repeating: token, count: 32)
                }
            )
        }
        try bench.bring([request(1, expiresAt: 500), request(2, expiresAt: 500), request(3, expiresAt: 5000)])
        bench.wait(milliseconds: 3000)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])
        bench.gateway.unreachable = [Bench.sport]
        bench.setClock(unixSeconds: 1000)
        bench.wait(milliseconds: 3000)
        #expect(try bench.offsets(.expired) == [0, 1])
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 2])
        bench.gateway.answers = [:]
        bench.gateway.unreachable = []
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [3])
        #expect(bench.committed()?.offset == 3 && bench.committed()?.metadata == "3;")
    }

    // MARK: Certificates

    @Test("Records of a bundle without a certificate wait and keep no others waiting; when it comes they are sent")
    func certificateComes() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport]
        bench.assign(0)
        try bringBoth(5, to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted.map(\.token) == Array(101...105))
        #expect(!bench.gateway.attempts.contains(Bench.sport))
        #expect(bench.producer.records(of: "push.dead-letters").isEmpty)
        #expect(bench.committed()?.offset == 10)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])
        #expect(bench.gateway.ticks >= 4, "time passes for the waiting topic")

        bench.gateway.missing = []
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.sport) == Array(1...5))
        #expect(bench.committed()?.metadata == "3;")
    }

    /// A fetched batch of one record for each of more bundles than have a topic without certificate, and one of news.
    private func bringUncertified(to bench: Bench) throws -> [String] {
        let uncertified = (0...AppLimits().withoutCertificate).map { "com.example.uncertified\($0)" }
        bench.gateway.missing = Set(uncertified)
        bench.assign(0)
        // Limits count from the first tick on.
        bench.wait(milliseconds: 100)
        try bench.bring(
            uncertified.map { bundle in
                (bundleID: bundle, request: PushSendRequest.with { $0.packedTokens = Data(repeating: 7, count: 32) })
            }
        )
        try bench.bring((Bench.news, [8]))
        bench.wait(milliseconds: 1000)
        return uncertified
    }

    @Test("However many bundles without certificate there are, each waits at its own cursor until one comes for it")
    func manyWithoutCertificate() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        let uncertified = try bringUncertified(to: bench)
        let last = uncertified[uncertified.count - 1]
        #expect(bench.gateway.accepted(of: Bench.news) == [8])
        #expect(bench.committed()?.offset == Int64(uncertified.count + 1))
        #expect(try Set(bench.laggards().keys) == Set(uncertified.map { Bench.hash($0) }))
        #expect(bench.lines.messages.contains("too many bundles without a certificate"))

        bench.gateway.missing.remove(last)
        bench.wait(milliseconds: 3000)
        #expect(bench.gateway.accepted(of: last) == [7])
        #expect(try bench.laggards()[Bench.hash(last)] == nil && bench.laggards().count == uncertified.count - 1)
    }

    @Test("The next owner sends what waited for a certificate, whichever bundles the former owner followed")
    func uncertifiedTakenOver() throws {
        let first = Bench()
        let uncertified = try bringUncertified(to: first)
        let committed = try #require(first.committed())
        first.shard.leave()

        let second = Bench(committed: committed.offset, metadata: committed.metadata)
        defer { second.shard.leave() }
        second.gateway.missing = Set(uncertified.dropLast())
        second.assign(0)
        let start = try #require(second.group.answers.first?.first?.offset)
        second.reader.records = first.reader.records
        second.group.batches.append(KafkaBatch(first.reader.records.filter { $0.offset >= start }))
        second.wait(milliseconds: 5000)
        #expect(second.gateway.accepted.map(\.bundleID) == [uncertified[uncertified.count - 1]])
        #expect(try second.laggards().count == uncertified.count - 1)
    }

    @Test("A bundle that is given up gets one dead letter for each record, some at a time, and then an outcome each")
    func givenUp() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport]
        bench.assign(0)
        for token in 0..<100 as Range<UInt8> { try bench.bring((Bench.sport, [token, token])) }
        bench.wait(milliseconds: 1000)
        bench.gateway.givenUp = [Bench.sport]
        bench.wait(milliseconds: 40)
        let first = bench.producer.records(of: "push.dead-letters").count
        #expect(1...3 * AppFlow.givenUpAtOnce ~= first, "paced")
        bench.wait(milliseconds: 3000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.compactMap { $0.header("source-offset") } == (0..<100).map { "\($0)" })
        #expect(letters.allSatisfy { $0.header("reason") == "bundle-without-certificate" })
        #expect(letters.allSatisfy { $0.header("token-indices") == nil })
        #expect(try bench.offsets(.deadLettered).count == 200)
        #expect(bench.committed()?.offset == 100 && bench.committed()?.metadata == "3;")
    }

    // MARK: Bad input

    @Test(
        "What a topic that lags was to send before the configuration changed is sent or a dead letter, never passed",
        arguments: ["", "gone"],
        [3, 2 * ShardLimits.nearRecords]
    )
    func refusedByConfiguration(environment: String, committed: Int64) throws {
        let sport = AppHash(bundleID: Bench.sport, environment: environment)
        let position = PositionMetadata.choose([(sport, 0)], liveNext: committed, limitBytes: 4096) { _, _ in
            DoneRanges()
        }
        let bench = Bench(committed: committed, metadata: position.metadata) { configuration in
            // A record without an environment meant the only one that there was.
            let place = HostPort(host: "nowhere", port: 1)
            configuration.environments.append(EnvironmentSettings(name: "production", gateways: [place]))
        }
        defer { bench.shard.leave() }
        for offset in 0..<3 as Range<Int64> {
            try bench.keep(Bench.sport, [UInt8(offset) + 1], at: offset, environment: environment)
        }
        try bench.keep(Bench.news, [9], at: committed)
        bench.assign(0)
        let start = try #require(bench.group.answers.first?.first?.offset)
        bench.group.batches.append(KafkaBatch(bench.reader.records.filter { $0.offset >= start }))
        bench.wait(milliseconds: 5000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(Set(letters.compactMap { $0.header("source-offset") }) == ["0", "1", "2", "\(committed)"])
        let reason = environment.isEmpty ? "environment-needed" : "environment-unknown"
        #expect(letters.count == 4 && letters.count { $0.header("reason") == reason } >= 3)
        #expect(bench.committed()?.offset == committed + 1 && bench.committed()?.metadata == "3;")
    }

    @Test("A thousand bad tokens of one record are one dead letter, and one outcome each when the broker has it")
    func badTokens() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.producer.isSilent = true
        let bad = [PushDeviceToken](repeating: .with { $0.raw = Data([1, 2, 3]) }, count: 500)
        let good = PushDeviceToken.with { $0.raw = Data(repeating: 7, count: 32) }
        try bench.bring([(Bench.news, .with { $0.tokens = bad + [good] + bad })])
        bench.wait(milliseconds: 1000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("token-indices") } == ["0-499,501-1000"])
        #expect(letters.map { $0.header("reason") } == ["token-length"])
        #expect(letters.map { $0.header("detail") } == ["the token has 3 bytes; allowed: 32"])
        #expect(try bench.offsets(.deadLettered).isEmpty && bench.committed()?.offset == 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 0], "nothing is done before the broker has it")
        bench.producer.isSilent = false
        bench.wait(milliseconds: 1000)
        #expect(try bench.offsets(.deadLettered).count == 1000 && bench.gateway.accepted(of: Bench.news) == [7])
        #expect(bench.producer.records(of: "push.dead-letters").count == 1)
        #expect(bench.committed()?.offset == 1 && bench.committed()?.metadata == "3;")
    }

    @Test("A record that the gateway refuses for its content is one dead letter, though each token is refused")
    func refusedContent() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 == 9 ? nil : .invalidPayloadSize }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 9, 2, 3, 5]), (Bench.news, [9]))
        bench.wait(milliseconds: 5000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("token-indices") } == ["0,2-4"])
        #expect(letters.map { $0.header("reason") } == ["gateway-status-7"])
        #expect(try bench.offsets(.deadLettered) == [0, 0, 0, 0])
        #expect(bench.gateway.accepted(of: Bench.news) == [9, 9])
    }

    @Test("A topic that is behind in many partitions catches up in all of them, though nothing new comes")
    func manyPartitions() throws {
        let bench = Bench { $0.worker.maxUncommitted = 2 }
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.sport]
        bench.gateway.timeout = .seconds(5)
        let partitions = 0..<Int32(2 * ShardLimits.catchUpPartitions + 1)
        bench.shard.assign(partitions.map(bench.place))
        bench.wait(milliseconds: 100)
        for partition in partitions {
            for token in 1...6 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token]), to: partition) }
        }
        bench.wait(milliseconds: 1000)
        bench.gateway.silent = []
        bench.wait(milliseconds: 60_000)
        #expect(bench.gateway.accepted(of: Bench.sport).count == 6 * partitions.count)
        #expect(partitions.allSatisfy { bench.committed($0)?.metadata == "3;" })
    }

    // MARK: Invalid tokens

    @Test("An invalid token's outcome is published at once; it is believed once a newer connection has accepted")
    func believed() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 == 9 ? .invalidToken : nil }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 9, 2]))
        bench.wait(milliseconds: 100)
        let health = try bench.shard.addTopic(Bench.news).health
        #expect(try bench.offsets(.rejected) == [0])
        #expect(health.trust.through == 0, "what is behind it is not known to be accepted")
        bench.wait(milliseconds: 1000)
        #expect(health.trust.through == 1 && bench.shard.stages.tombstones.takeSettled().isEmpty)
        #expect(try bench.offsets(.confirmed) == [0] && bench.offsets(.presumed) == [0])
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2])
    }

    @Test("A notification waiting for a token called invalid is not sent; when that is not believed, it is sent again")
    func silenced() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 == 9 ? .invalidToken : nil }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 9]), (Bench.news, [9]))
        bench.wait(milliseconds: 100)
        #expect(try bench.offsets(.rejected) == [0] && bench.offsets(.tombstoned) == [1])
        try bench.bring((Bench.news, [9]))
        bench.wait(milliseconds: 100)
        #expect(try bench.offsets(.tombstoned) == [1, 2], "it came later, and the token is known")
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 31_000)
        try bench.bring((Bench.news, [9]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 9])
        #expect(try bench.shard.addTopic(Bench.news).health.trust.through == 0)
    }

    @Test("A gateway that calls tokens invalid and accepts nothing is never believed")
    func distrusted() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .invalidToken }
        bench.assign(0)
        for _ in 0..<3 {
            try bench.bring((Bench.news, [9]))
            bench.wait(milliseconds: 1000)
        }
        bench.gateway.answers = [:]
        try bench.bring((Bench.news, [1, 9]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.offsets(.rejected) == [0, 1, 2])
        #expect(try bench.shard.addTopic(Bench.news).health.trust.through == 0)
        #expect(bench.gateway.accepted(of: Bench.news).sorted() == [1, 9])
    }
}
