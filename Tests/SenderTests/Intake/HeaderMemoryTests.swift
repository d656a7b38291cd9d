import PipelineCore
import PushSchemas
import PushTopics
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Records whose headers are large.
@Suite("Headers of records")
struct HeaderMemoryTests {
    private typealias Bench = ShardBench

    /// A trace header that makes, with its name, so many bytes.
    private static func trace(bytes: Int) -> [(name: String, value: [UInt8])] {
        [(TraceContext.parent, Array(repeating: 0x61, count: bytes - TraceContext.parent.utf8.count))]
    }

    @Test("Headers count for a topic whose gateway is away, as often as they are in memory: it lags at its share")
    func counted() throws {
        let bench = Bench {
            $0.worker.shardMemoryBytes = 1 << 20
            $0.worker.topicMemoryBytes = 1 << 19
        }
        defer { bench.shard.leave() }
        bench.gateway.unreachable = [Bench.news]
        bench.assign(0)
        bench.headers = Self.trace(bytes: RecordHeaders.limitBytes)
        for _ in 0..<100 { try bench.bring((Bench.news, [1])) }
        bench.wait(milliseconds: 1000)
        let taken = bench.shard.stages.intake.counters.records
        let most = (1 << 19) / (2 * RecordHeaders.limitBytes) + 1
        #expect(taken > 0 && taken <= most, "\(taken) records are held")
        #expect(try bench.outcomes().isEmpty && bench.laggards() == [Bench.hash(Bench.news): 0])
    }

    @Test("A byte of headers beyond the limit is one dead letter without them; the record beside it is sent")
    func tooLarge() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.headers = Self.trace(bytes: RecordHeaders.limitBytes + 1)
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.headers = Self.trace(bytes: RecordHeaders.limitBytes)
        try bench.bring((Bench.sport, [4]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news).isEmpty && bench.gateway.accepted(of: Bench.sport) == [4])
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == ["headers-too-large"])
        #expect(letters.first?.header("detail")?.contains("16385 bytes") == true)
        #expect(letters.allSatisfy { $0.header(TraceContext.parent) == nil })
        #expect(try bench.outcomes().map(\.kind) == [.deadLettered, .presumed])
        #expect(bench.committed()?.offset == 2)
    }

    @Test("A trace of usual size goes to each outcome of a record, a long one to none", arguments: [512, 513])
    func passedOn(bytes: Int) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.headers = [(TraceContext.parent, Array(repeating: 0x61, count: bytes))]
        try bench.bring((Bench.news, [1, 2]))
        bench.wait(milliseconds: 2000)
        let traces = bench.producer.records(of: "push.outcomes").map { $0.header(TraceContext.parent)?.utf8.count }
        #expect(traces == (bytes == 512 ? [512, 512] : [nil, nil]))
    }

    @Test("Of a long name of the encoding moved records and dead letters have the beginning", arguments: [1024, 1025])
    func encoding(bytes: Int) throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.headers = [(RecordContentType.headerName, Array(repeating: 0x61, count: bytes))]
        try bench.bring((Bench.news, [1]))
        // It has no tokens.
        try bench.bring([(Bench.sport, PushSendRequest())])
        bench.wait(milliseconds: 2000)
        for topic in ["push.requests", "push.dead-letters"] {
            let names = bench.producer.records(of: topic).map { $0.header(RecordContentType.headerName) ?? "" }
            #expect(names.map(\.utf8.count) == [1024], "\(topic)")
        }
    }
}
