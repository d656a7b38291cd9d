import BelfrySupport
import Foundation
import KafkaClient
import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// The outcomes of a request that its publisher asks for.
@Suite("Reports of requests")
struct ReportTests {
    private typealias Bench = ShardBench

    private func request(
        _ report: PushReport,
        _ tokens: [UInt8],
        _ fill: (inout PushSendRequest) -> Void = { _ in }
    ) -> (bundleID: String, request: PushSendRequest) {
        let request = PushSendRequest.with {
            $0.requestID = "morning"
            $0.report = report
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
            fill(&$0)
        }
        return (Bench.news, request)
    }

    /// Offset and numbers of the summaries that were published, in order.
    private func summaries(of bench: Bench) throws -> [String] {
        try bench.outcomes().filter { $0.kind == .summary }.map { summary in
            let counts = summary.counts.map { "\(OutcomeKind($0.kind)?.name ?? "?") \($0.tokens)" }
            return "\(summary.sourceOffset): \(counts.joined(separator: ", "))"
        }
    }

    // MARK: All and failures

    @Test(
        "A request has the outcomes that it asks for, whatever the worker is set to; others have what that says",
        arguments: [OutcomeSelection.all, .failures, .none]
    )
    func asked(setting: OutcomeSelection) throws {
        let bench = Bench(over: .http2) { $0.outcomes = setting }
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 2 ? .refuse(.badCollapseID) : .accept }
        bench.assign(0)
        let reports: [PushReport] = [.unspecified, .all, .failures]
        try bench.bring(reports.map { request($0, [1, 2]) })
        bench.wait(milliseconds: 1000)
        let outcomes = try bench.outcomes()
        let asSet = setting == .all ? 2 : setting == .failures ? 1 : 0
        #expect((0...2).map { offset in outcomes.count { $0.sourceOffset == offset } } == [asSet, 2, 1])
        #expect(outcomes.last { $0.sourceOffset == 2 }?.kind == .rejected)
        #expect(bench.committed()?.offset == 3)
    }

    // MARK: Summaries

    @Test("A summary is one outcome with the numbers of all tokens, and comes when the last one has its own")
    func summary() throws {
        let bench = Bench(over: .http2) { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.service.reply = { [2: .refuse(.badCollapseID), 3: .wait][$0.token] ?? .accept }
        bench.assign(0)
        try bench.bring([request(.summary, [1, 2, 3, 4])])
        bench.wait(milliseconds: 1000)
        #expect(try bench.outcomes().isEmpty && bench.laggards() == [Bench.hash(Bench.news): 0])
        bench.service.peers[0].answerAll()
        bench.wait(milliseconds: 1000)
        #expect(try summaries(of: bench) == ["0: confirmed 3, rejected 1"])
        let outcome = try #require(try bench.outcomes().first)
        #expect(try bench.outcomes().count == 1 && outcome.requestID == "morning" && outcome.bundleID == Bench.news)
        #expect(outcome.token.isEmpty && outcome.tokenIndex == 0 && outcome.environment == "sandbox")
        #expect(bench.committed()?.offset == 1)
        let counters = bench.shard.report().counters.outcomes
        #expect(counters[.confirmed] == 3 && counters[.rejected] == 1, "each token is counted")
    }

    @Test("A record of several hundred tokens has one summary")
    func manyTokens() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([
            request(.summary, []) { request in
                for number in 0..<300 {
                    request.packedTokens += Data([UInt8(number % 256), UInt8(number / 256)]) + Data(count: 30)
                }
            }
        ])
        bench.wait(milliseconds: 3000)
        #expect(try summaries(of: bench) == ["0: confirmed 300"])
        #expect(bench.committed()?.offset == 1)
    }

    @Test("A record with a summary is done when the broker has it")
    func acknowledged() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.producer.isSilent = true
        bench.assign(0)
        try bench.bring([request(.summary, [1, 2])])
        bench.wait(milliseconds: 2000)
        #expect(try summaries(of: bench) == ["0: confirmed 2"])
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 0])
        bench.producer.isSilent = false
        bench.wait(milliseconds: 2000)
        #expect(try bench.committed()?.offset == 1 && bench.laggards().isEmpty)
        #expect(try summaries(of: bench).count == 1)
    }

    @Test("A record that the next owner is to count is not marked as done in the commit, nor are those behind it")
    func takeOver() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 1 ? .wait : .accept }
        bench.assign(0)
        try bench.bring([request(.summary, [1, 2]), request(.all, [1, 3]), request(.all, [4])])
        bench.wait(milliseconds: 2000)
        let commit = try #require(bench.committed())
        #expect(commit.offset == 3)

        let next = Bench(over: .http2, committed: commit.offset, metadata: commit.metadata)
        defer { next.shard.leave() }
        next.assign(0)
        next.group.batches.append(KafkaBatch(bench.reader.records))
        next.wait(milliseconds: 5000)
        #expect(next.service.accepted(of: Bench.news).sorted() == [1, 1, 2, 3, 4])
        #expect(try summaries(of: next) == ["0: confirmed 2"])
    }

    @Test("A topic that is fed anew sends no token of a summary again, and counts all")
    func fedAnew() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        var isRefusing = false
        bench.service.reply = { request in
            guard request.token != 1 else { return .accept }
            return isRefusing ? .refuse(.forbidden) : .wait
        }
        bench.assign(0)
        try bench.bring([request(.summary, [1, 2, 3]), request(.summary, [4])])
        bench.wait(milliseconds: 500)
        isRefusing = true
        bench.service.peers[0].answerAll(.refuse(.forbidden))
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == "topic-refused")
        #expect(try summaries(of: bench).isEmpty)
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.news).sorted() == [1, 2, 3, 4])
        #expect(try summaries(of: bench).sorted() == ["0: confirmed 3", "1: confirmed 1"])
        #expect(bench.committed()?.offset == 2)
    }

    @Test("Tokens without a request of their own are counted, too: dead letters, expired ones")
    func unsent() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.assign(0)
        try bench.bring([
            request(.summary, []) { request in
                request.tokens = ["zz", String(repeating: "ab", count: 32)].map { hex in .with { $0.hex = hex } }
            },
            request(.summary, [1, 2]) { $0.expiration = 1_600_000_000 },
            request(.summary, [1, 2]) { $0.payload = Data("{".utf8) },
        ])
        bench.wait(milliseconds: 2000)
        #expect(
            try summaries(of: bench).sorted() == [
                "0: confirmed 1, dead_lettered 1", "1: expired 2", "2: dead_lettered 2",
            ]
        )
        #expect(bench.producer.records(of: "push.dead-letters").count == 2)
        #expect(bench.committed()?.offset == 3)
    }

    @Test("The first outcome of a token is the one that is counted")
    func late() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([request(.summary, [1, 2])])
        bench.wait(milliseconds: 3000)
        #expect(try summaries(of: bench) == ["0: presumed 2"])
        #expect(bench.committed()?.offset == 1)
    }
}
