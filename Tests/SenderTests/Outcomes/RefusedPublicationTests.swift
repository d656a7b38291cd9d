import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Publications that the broker refuses for good, or until operators have mended it.
@Suite("Publications that the broker refuses")
struct RefusedPublicationTests {
    private typealias Bench = ShardBench

    private static let tooLarge = KafkaError.ofProducer("MSG_SIZE_TOO_LARGE", 10)
    private static let notAuthorized = KafkaError.ofProducer("TOPIC_AUTHORIZATION_FAILED", 29)
    private static let unknownTopic = KafkaError.ofProducer("UNKNOWN_TOPIC_OR_PART", 3)
    private static let tokens = 32_000

    private static func bytes(_ message: CollectingProducer.Record) -> Int {
        message.value.count + message.headers.reduce(0) { $0 + $1.0.utf8.count + $1.1.count }
    }

    /// Brings a record whose tokens are wrong in turns of two reasons.
    private static func bringWrongTokens(_ bench: Bench) throws {
        let short = PushDeviceToken.with { $0.raw = Data([1, 2, 3]) }
        let text = PushDeviceToken.with { $0.hex = "?" }
        let request = PushSendRequest.with { $0.tokens = (0..<tokens).map { $0.isMultiple(of: 2) ? short : text } }
        try bench.bring([(Bench.news, request)])
    }

    /// The positions that dead letters name, by reason.
    private static func named(_ bench: Bench) throws -> [String: [UInt32]] {
        var named: [String: [UInt32]] = [:]
        for letter in bench.producer.records(of: "push.dead-letters") {
            let runs = try #require(TokenRuns(letter.header("token-indices") ?? "?"))
            named[letter.header("reason") ?? "", default: []] += runs.runs.flatMap { $0 }
        }
        return named
    }

    @Test("Tokens that are wrong in turns go in several letters, none too large, and each token is in one of them")
    func severalLetters() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        let limit = 270_000
        bench.producer.objection = { Self.bytes($0) > limit ? Self.tooLarge : nil }
        bench.assign(0)
        try Self.bringWrongTokens(bench)
        bench.wait(milliseconds: 3000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.count == 4)
        let named = try Self.named(bench)
        #expect(named.count == 2)
        #expect(Set(named.values.joined()).count == Self.tokens, "each is in a letter")
        #expect(named.values.reduce(0) { $0 + $1.count } == Self.tokens, "and in one only")
        #expect(letters.allSatisfy { $0.header("cut-from-tokens") == nil })
        #expect(bench.committed()?.offset == 1 && bench.shard.stages.outcomes.unacknowledged == 0)
        #expect(bench.shard.report().counters.cut == 2)
    }

    @Test("A broker that takes very little gets a letter that says how much is missing, and the record is done")
    func bareLetters() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.producer.objection = { Self.bytes($0) > 4000 ? Self.tooLarge : nil }
        bench.assign(0)
        try Self.bringWrongTokens(bench)
        bench.wait(milliseconds: 3000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.count == 4 && letters.allSatisfy { $0.header("cut-from-bytes") != nil })
        #expect(letters.compactMap { $0.header("cut-from-tokens").flatMap { Int($0) } }.reduce(0, +) == Self.tokens)
        #expect(letters.allSatisfy { $0.header("source-offset") == "0" && $0.header("reason") != nil })
        #expect(bench.committed()?.offset == 1 && bench.shard.stages.outcomes.unacknowledged == 0)
    }

    @Test("An outcome that is too large goes without what its publisher chose")
    func cutOutcome() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.producer.objection = { Self.bytes($0) > 1500 && $0.topic == "push.outcomes" ? Self.tooLarge : nil }
        bench.assign(0)
        let request = PushSendRequest.with {
            $0.requestID = String(repeating: "r", count: 2000)
            $0.tokens = [.with { $0.raw = Data(repeating: 1, count: 9000) }]
        }
        try bench.bring([(Bench.news, request)])
        bench.wait(milliseconds: 1000)
        let outcome = try #require(try bench.outcomes().first)
        #expect(outcome.kind == .deadLettered && outcome.requestID.isEmpty && outcome.token.count == 256)
        #expect(bench.committed()?.offset == 1)
    }

    @Test("A publication that cannot be made small enough waits, is tried each half minute, and keeps no other waiting")
    func unfit() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        let refused = Self.tooLarge
        bench.producer.objection = { $0.topic == "push.dead-letters" ? refused : nil }
        bench.assign(0)
        let bad = PushSendRequest.with { $0.tokens = [.with { $0.raw = Data([1]) }] }
        try bench.bring([(Bench.news, bad)])
        try bench.bring((Bench.sport, [1, 2]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.offsets(.presumed) == [1, 1])
        let attempts = bench.producer.attempts
        bench.wait(milliseconds: 60_000)
        #expect(bench.producer.attempts <= attempts + 3)
        #expect(bench.shard.report().barred == 1)
        bench.producer.objection = { _ in nil }
        bench.wait(milliseconds: 31_000)
        #expect(try bench.offsets(.deadLettered) == [0] && bench.shard.report().barred == 0)
        #expect(bench.committed()?.offset == 2)
    }

    @Test(
        "A Kafka topic that the brokers refuse is tried once in a while, with few lines, and goes on when it is mended",
        arguments: [notAuthorized, unknownTopic]
    )
    func barred(error: KafkaError) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.producer.objection = { $0.topic == "push.outcomes" ? error : nil }
        bench.assign(0)
        try bench.bring((Bench.news, Array(repeating: 7, count: 2000)))
        let good = PushSendRequest.with { $0.tokens = [.with { $0.raw = Data([1]) }] }
        try bench.bring([(Bench.sport, good)])
        bench.wait(milliseconds: 600_000)
        #expect(bench.producer.attempts <= 40, "an attempt in half a minute, not one a second for each")
        #expect(bench.lines.messages.count { $0.hasPrefix("publication was not") } <= 40)
        #expect(bench.producer.records(of: "push.dead-letters").count == 1, "another topic is not kept waiting")
        #expect(bench.shard.report().barred == 2001)
        bench.producer.objection = { _ in nil }
        bench.wait(milliseconds: 31_000)
        #expect(try bench.outcomes().count == 2001)
        #expect(bench.shard.report().barred == 0 && bench.shard.stages.outcomes.unacknowledged == 0)
        #expect(bench.committed()?.offset == 2)
    }

    @Test("Done behind one whose outcome is refused is not named as done: the next owner sends both, in order")
    func doneBehindRefused() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.producer.objection = { $0.topic == "push.outcomes" ? Self.notAuthorized : nil }
        bench.assign(0)
        let request = PushSendRequest.with {
            $0.packedTokens = Data(repeating: 7, count: 32)
            $0.report = .all
        }
        try bench.bring([(Bench.news, request)])
        try bench.bring((Bench.news, [7]))
        bench.wait(milliseconds: 5000)
        #expect(bench.shard.report().barred == 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 0])
        let committed = try #require(bench.committed())
        let metadata = try PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        #expect(committed.offset == 2 && metadata.laggards.allSatisfy(\.done.isEmpty))
        bench.producer.objection = { _ in nil }
        bench.wait(milliseconds: 31_000)
        #expect(bench.committed()?.offset == 2)
        #expect(try bench.laggards().isEmpty)
    }
}
