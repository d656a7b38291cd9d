import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A partition that goes from one owner to another that reads its records otherwise: nothing is lost between them.
@Suite("Owners that differ")
struct DifferentOwnersTests {
    private typealias Bench = ShardBench

    private static let production = "production"

    /// A shard that knows these environments, and a gateway for each.
    private func owner(
        of environments: [String] = ["sandbox"],
        after former: Bench? = nil,
        limits: AppLimits = AppLimits(),
        _ change: (inout KafkaPartitionOffset) -> Void = { _ in }
    ) throws -> Bench {
        var committed = try former.map { try #require($0.committed()) }
        if committed != nil { change(&committed!) }
        let bench = Bench(
            committed: committed?.offset ?? 0,
            metadata: committed?.metadata ?? "3;",
            limits: limits
        ) { configuration in
            let place = HostPort(host: "nowhere", port: 1)
            configuration.environments = environments.map { EnvironmentSettings(name: $0, gateways: [place]) }
        }
        guard let former else { return bench }
        former.shard.leave()
        bench.reader.records = former.reader.records
        return bench
    }

    /// Begins with the log where the group lets it.
    private func begin(_ bench: Bench) throws {
        bench.assign(0)
        let start = try #require(bench.group.answers.first?.first?.offset)
        bench.group.batches.append(KafkaBatch(bench.reader.records.filter { $0.offset >= start }))
        bench.wait(milliseconds: 5000)
    }

    private func request(_ token: UInt8, _ environment: String) -> (bundleID: String, request: PushSendRequest) {
        (
            Bench.news,
            .with {
                $0.environment = environment
                $0.packedTokens = Data(repeating: token, count: 32)
            }
        )
    }

    /// An owner that does not know one environment, and whose dead letters the broker does not take; then five records
    /// of that environment, then five of the other one.
    private func ownerOfHalf() throws -> Bench {
        let first = try owner()
        first.producer.refused = ["push.dead-letters"]
        first.assign(0)
        try first.bring((1...5).map { request($0, Self.production) } + (6...10).map { request($0, "sandbox") })
        first.wait(milliseconds: 5000)
        #expect(first.gateway.accepted(of: Bench.news) == Array(6...10))
        #expect(first.committed()?.offset == 10)
        return first
    }

    /// The commit as an earlier version wrote it: all refused records are of one class, and there is no mark.
    private func asBefore(_ position: inout KafkaPartitionOffset) throws {
        let metadata = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
        let cursor = try #require(metadata.laggards.map(\.cursor).min())
        let text = PositionMetadata.choose([(.refused, cursor)], liveNext: position.offset, limitBytes: 4096) { _, _ in
            DoneRanges()
        }.metadata
        position = KafkaPartitionOffset(position.place, offset: position.offset, metadata: "3;" + text.dropFirst(17))
    }

    @Test("Records whose environment the former owner did not know are sent by one that does, and nothing twice")
    func learntEnvironment() throws {
        let second = try owner(of: ["sandbox", Self.production], after: try ownerOfHalf())
        defer { second.shard.leave() }
        try begin(second)
        #expect(second.gateway.accepted(of: Bench.news) == Array(1...5))
        #expect(second.committed()?.offset == 10 && second.committed()?.metadata == "3;")
    }

    @Test("What an earlier version has refused in one class is sent by an owner that knows it, though others repeat")
    func learntFromEarlierVersion() throws {
        var failure: (any Error)?
        let second = try owner(of: ["sandbox", Self.production], after: try ownerOfHalf()) { position in
            do { try asBefore(&position) } catch { failure = error }
        }
        defer { second.shard.leave() }
        #expect(failure == nil)
        try begin(second)
        #expect(second.gateway.accepted(of: Bench.news).sorted() == Array(1...10))
        #expect(second.committed()?.metadata == "3;")
        #expect(second.lines.messages.contains { $0.hasPrefix("refused records of a former owner") })
    }

    @Test("A backlog whose environment the next owner does not know becomes dead letters, and no other record does")
    func forgottenEnvironment() throws {
        let first = try owner(of: ["sandbox", Self.production])
        first.gateway.answers[Bench.news] = { _ in .missingTopic }
        first.assign(0)
        try first.bring((1...3).map { request($0, Self.production) } + [(Bench.sport, request(9, "sandbox").request)])
        first.wait(milliseconds: 5000)
        let second = try owner(after: first)
        defer { second.shard.leave() }
        try begin(second)
        #expect(second.producer.records(of: "push.dead-letters").count == 3)
        #expect(try second.offsets(.deadLettered) == [0, 1, 2] && second.gateway.accepted.isEmpty)
        #expect(second.committed()?.metadata == "3;")
    }

    /// Damages the first records of a log, or mends them.
    private func exchange(_ bench: Bench, _ count: Int64, _ value: [UInt8]) {
        bench.reader.records = bench.reader.records.map { record in
            guard record.offset < count else { return record }
            return KafkaRecord(
                topic: record.topic,
                partition: record.partition,
                offset: record.offset,
                key: record.key,
                value: value,
                timestampMilliseconds: nil,
                headers: []
            )
        }
    }

    @Test("A record that only the next owner can decode is sent, and one that only the former could is a dead letter")
    func otherDecoder() throws {
        let first = try owner()
        first.producer.refused = ["push.dead-letters"]
        first.gateway.answers[Bench.sport] = { _ in .missingTopic }
        first.assign(0)
        let garbage = KafkaRecord(
            topic: "push.requests",
            partition: 0,
            offset: 0,
            key: Array(Bench.news.utf8),
            value: [0xFF, 0xFF, 0xFF]
        )
        first.group.batches.append(KafkaBatch([garbage]))
        first.group.committedOffset = 1
        try first.bring((Bench.news, [2]), (Bench.sport, [3]), (Bench.news, [4]))
        let sound = first.reader.records[0].value
        first.reader.records.insert(garbage, at: 0)
        first.wait(milliseconds: 5000)
        #expect(try first.laggards() == [.refused: 0, Bench.hash(Bench.sport): 2])

        // An unknown edition: the mark is left out.
        let second = try owner(after: first) { position in
            position = KafkaPartitionOffset(
                position.place,
                offset: position.offset,
                metadata: "3;" + position.metadata.dropFirst(17).prefix(30)
            )
        }
        defer { second.shard.leave() }
        exchange(second, 1, sound ?? [])
        second.reader.records = second.reader.records.map { record in
            guard record.offset == 2 else { return record }
            return KafkaRecord(
                topic: record.topic,
                partition: 0,
                offset: 2,
                key: record.key,
                value: [0xFF, 0xFF, 0xFF]
            )
        }
        try begin(second)
        #expect(second.gateway.accepted(of: Bench.news).prefix(1) == [2], "the first of the log")
        #expect(second.gateway.accepted(of: Bench.news).count == 3, "what followed it is repeated")
        #expect(try second.offsets(.deadLettered) == [2])
        #expect(second.committed()?.metadata == "3;")
    }

    @Test("Metadata that was made for another offset stops the partition, until it is set")
    func mirrored() throws {
        let first = try owner()
        first.gateway.answers[Bench.sport] = { _ in .missingTopic }
        first.assign(0)
        try first.bring((Bench.sport, [1]), (Bench.news, [2]), (Bench.news, [3]))
        first.wait(milliseconds: 3000)
        let second = try owner(after: first) { position in
            position = KafkaPartitionOffset(position.place, offset: 2, metadata: position.metadata)
        }
        defer { second.shard.leave() }
        try begin(second)
        #expect(second.gateway.accepted.isEmpty && second.group.commits.isEmpty)
        #expect(second.shard.report().partitions.map(\.isStanding) == [true])
        #expect(second.lines.messages.contains { $0.contains("was made for another offset") })
    }

    /// Requests to one token each of so many bundles.
    private func requests(_ names: Range<Int>) -> [(bundleID: String, request: PushSendRequest)] {
        names.map { ("com.example.app\($0)", request(7, Self.production).request) }
    }

    @Test("With more names than have cursors of their own, refused records are still read by the next owner")
    func manyNames() throws {
        let first = try owner(limits: AppLimits(refused: 5))
        first.producer.refused = ["push.dead-letters"]
        first.assign(0)
        try first.bring(requests(0..<9))
        first.wait(milliseconds: 5000)
        #expect(first.shard.stages.group.active.first?.feeds.count == 6)
        let second = try owner(of: ["sandbox", Self.production], after: first)
        defer { second.shard.leave() }
        try begin(second)
        #expect(Set(second.gateway.accepted.map(\.bundleID)).count == 9)
        #expect(second.committed()?.metadata == "3;")
    }

    @Test("Refused topics that have nothing left to do leave their room to others")
    func room() throws {
        let bench = try owner(limits: AppLimits(refused: 5))
        defer { bench.shard.leave() }
        bench.assign(0)
        for round in 0..<3 {
            try bench.bring(requests(5 * round..<5 * round + 5))
            bench.wait(milliseconds: 3000)
        }
        #expect(try bench.offsets(.deadLettered) == Array(0..<15))
        #expect(bench.shard.stages.group.active.first?.feeds.isEmpty == true)
        #expect(bench.committed()?.offset == 15)
    }

    @Test("A bundle without a cursor of its own holds the offset until it can be sent to, be there no new record of it")
    func others() throws {
        let bench = Bench(limits: AppLimits(withoutCertificate: 1, uncertified: 1))
        defer { bench.shard.leave() }
        let uncertified = (0..<4).map { "com.example.uncertified\($0)" }
        bench.gateway.missing = Set(uncertified)
        bench.assign(0)
        bench.wait(milliseconds: 100)
        for (token, bundle) in zip((1 as UInt8)..., uncertified) { try bench.bring((bundle, [token])) }
        try bench.bring((Bench.news, [50]))
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [50])
        #expect(bench.committed()?.offset == 2, "the third has no name, and the second has no room")

        bench.gateway.missing = Set(uncertified.prefix(2) + uncertified.suffix(1))
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.accepted(of: uncertified[2]) == [3])
        #expect(bench.committed()?.offset == 3)

        bench.gateway.missing = []
        bench.wait(milliseconds: 30_000)
        #expect(uncertified.allSatisfy { bench.gateway.accepted(of: $0).count == 1 })
        #expect(bench.gateway.accepted.count == 5)
        #expect(bench.committed()?.offset == 5 && bench.committed()?.metadata == "3;")
    }
}
