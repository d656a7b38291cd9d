import APNsProtocol
import BelfrySupport
import Foundation
import PushSchemas
import TLSTransport
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Lines of the log, and the trace of a request to its end.
@Suite("Log lines and traces")
struct LogLineTests {
    private typealias Bench = ShardBench

    private static let message = "request is dead-lettered"
    private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let state = "a=b"

    private func makeBench(over transport: EnvironmentSettings.Transport = .http2) -> Bench {
        let bench = Bench(over: transport)
        bench.headers = [("traceparent", Array(Self.trace.utf8)), ("tracestate", Array(Self.state.utf8))]
        bench.assign(0)
        return bench
    }

    private func request(
        _ id: String,
        _ tokens: ClosedRange<UInt8>,
        _ fill: (inout PushSendRequest) -> Void = { _ in }
    ) -> (String, PushSendRequest) {
        let request = PushSendRequest.with {
            $0.requestID = id
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
            fill(&$0)
        }
        return (Bench.news, request)
    }

    // MARK: Traces

    @Test("Outcomes of every kind, summaries and dead letters carry the trace of their request")
    func traces() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.service.reply = { request in
            switch request.token {
            case 2: .refuse(.badCollapseID)
            case 3: .refuse(.badPath)
            default: .accept
            }
        }
        try bench.bring([
            request("a", 1...3), request("b", 4...4) { $0.expiration = 1_600_000_000 },
            request("c", 1...3) { $0.report = .summary },
        ])
        bench.wait(milliseconds: 10_000)
        let messages = bench.producer.records(of: "push.outcomes")
        let outcomes = try bench.outcomes()
        #expect(Set(outcomes.map(\.kind)) == [.confirmed, .rejected, .expired, .deadLettered, .summary])
        #expect(Set(outcomes.map(\.requestID)) == ["a", "b", "c"])
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.count == 2)
        for message in messages + letters {
            #expect(message.header("traceparent") == Self.trace && message.header("tracestate") == Self.state)
        }
    }

    @Test("So do outcomes by silence and by refusal over the binary interface")
    func binaryTraces() throws {
        let bench = makeBench(over: .binary)
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 == 2 ? .invalidToken : nil }
        try bench.bring([request("a", 1...3)])
        bench.wait(milliseconds: 5000)
        #expect(try Set(bench.outcomes().map(\.kind)) == [.confirmed, .rejected, .presumed])
        for message in bench.producer.records(of: "push.outcomes") {
            #expect(message.header("traceparent") == Self.trace && message.header("tracestate") == Self.state)
        }
    }

    // MARK: Lines

    @Test("A dead-lettered request is found by its id, with coordinates, reason and trace")
    func deadLetter() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 2 ? .refuse(.badPath) : .accept }
        try bench.bring([request("good", 1...1), request("bad", 1...2)])
        bench.wait(milliseconds: 10_000)
        let line = [
            "partition": "0", "offset": "1", "app": Bench.news, "request-id": "bad", "traceparent": Self.trace,
            "reason": "gateway-status-404", "status": "404", "tokens": "1",
        ]
        #expect(bench.lines.metadata(of: Self.message) == [line])
    }

    @Test("A record that cannot be decoded is found by its coordinates, and thousands of them make few lines")
    func manyDeadLetters() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        try bench.bring((0..<1000).map { request("bad \($0)", 1...1) { $0.payload = Data("{".utf8) } })
        bench.wait(milliseconds: 10_000)
        #expect(bench.producer.records(of: "push.dead-letters").count == 1000)
        let lines = bench.lines.metadata(of: Self.message)
        #expect((100..<300).contains(lines.count) && lines[0]["request-id"] == "bad 0" && lines[99]["offset"] == "99")
        try bench.bring([request("last", 1...1) { $0.payload = Data("{".utf8) }])
        bench.wait(milliseconds: 10_000)
        let last = try #require(bench.lines.metadata(of: Self.message).last)
        #expect(last["request-id"] == "last" && Int(last["passed-over"] ?? "0") == 1000 - lines.count)
    }

    @Test("The line of a refused notification has its coordinates and the hash of its token")
    func refused() throws {
        let bench = makeBench(over: .binary)
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 == 2 ? .invalidToken : nil }
        try bench.bring([request("a", 1...3)])
        bench.wait(milliseconds: 5000)
        let line = try #require(bench.lines.metadata(of: "error response").first)
        #expect(line["partition"] == "0" && line["offset"] == "0" && line["token-index"] == "1")
        #expect(line["request-id"] == "a" && line["token"] == TokenHash.text([UInt8](repeating: 2, count: 32)))
        #expect(line["app"] == Bench.news && line["status"] == "8")
    }

    @Test("No line has a token in full, whatever goes wrong")
    func noTokens() throws {
        for transport in [EnvironmentSettings.Transport.binary, .http2] {
            let bench = makeBench(over: transport)
            defer { bench.shard.leave() }
            bench.gateway.answers[Bench.news] = { $0 == 200 ? .invalidToken : $0 == 201 ? .invalidPayloadSize : nil }
            bench.service.reply = { request in
                switch request.token {
                case 200: .refuse(.badDeviceToken)
                case 201: .refuse(.badPath)
                case 202: .refuse(.unregistered, deadSince: 1_600_000_000_000)
                default: .accept
                }
            }
            try bench.bring([request("a", 199...203), request("b", 200...204)])
            bench.wait(milliseconds: 10_000)
            #expect(!bench.lines.text.isEmpty)
            for token in 199...204 as ClosedRange<UInt8> {
                let bytes = [UInt8](repeating: token, count: 8)
                #expect(!bench.lines.text.lowercased().contains(Hex.encode(bytes)))
                #expect(!bench.lines.text.contains(Data(repeating: token, count: 32).base64EncodedString()))
            }
        }
    }
}
