import BelfrySupport
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

@Suite("Tokens that a record has several times")
struct RepeatedTokensShardTests {
    private typealias Bench = ShardBench

    @Test(
        "Each is sent to once; the others have the outcome duplicate, and every token has one",
        arguments: [.binary, .http2] as [EnvironmentSettings.Transport]
    )
    func once(transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2, 1, 1, 3]), (Bench.news, [1]))
        bench.wait(milliseconds: 3000)
        let accepted =
            transport == .http2 ? bench.service.accepted(of: Bench.news) : bench.gateway.accepted(of: Bench.news)
        #expect(accepted.sorted() == [1, 1, 2, 3], "once for each record")
        let outcomes = try bench.outcomes()
        let duplicates = outcomes.filter { $0.kind == .duplicate }
        #expect(duplicates.map(\.tokenIndex) == [2, 3] && duplicates.allSatisfy { $0.sourceOffset == 0 })
        #expect(outcomes.count == 6 && bench.committed()?.offset == 2)
    }
}
