import Foundation
import PushSchemas
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Payment card and social-security numbers, from the record to outcome and dead letter.
@Suite("Sensitive data")
struct SensitiveDataTests {
    private static let card = "4111 1111 1111 1111"

    private func bench(_ policy: String) throws -> ShardBench {
        let yaml = "apps: {\(ShardBench.news): {sensitive-data: \(policy)}}"
        let apps = try BelfryConfiguration.inspect(yaml: yaml, file: "f", directory: "/none", variables: [:])
            .configuration.apps
        return ShardBench { $0.apps = apps }
    }

    private func request(_ fill: (inout PushSendRequest) -> Void) -> PushSendRequest {
        PushSendRequest.with {
            $0.requestID = "r"
            $0.packedTokens = Data(repeating: 1, count: 32)
            fill(&$0)
        }
    }

    private func outcomes(_ bench: ShardBench, _ request: PushSendRequest) throws -> [PushOutcome] {
        bench.assign(0)
        try bench.bring([(ShardBench.news, request)])
        bench.wait(milliseconds: 2000)
        return try bench.outcomes().sorted { $0.tokenIndex < $1.tokenIndex }
    }

    private func counted(_ bench: ShardBench) -> Int {
        bench.shard.report().topics.reduce(0) { $0 + $1.counters.sensitive }
    }

    @Test("A warning is in the outcome of what was sent, and counted")
    func warns() throws {
        let bench = try bench("warn")
        defer { bench.shard.leave() }
        let sent = request {
            $0.payload = Data(#"{"aps":{"alert":{"body":"Card \#(Self.card)"}}}"#.utf8)
            $0.packedTokens = Data((0..<64).map { UInt8($0) })
        }
        let outcomes = try outcomes(bench, sent)
        #expect(outcomes.count == 2 && outcomes.allSatisfy { $0.kind != .deadLettered })
        let words = "'payload.aps.alert.body' has a payment card number at byte 5"
        #expect(outcomes.allSatisfy { $0.warning == words })
        #expect(counted(bench) == 2)
        #expect(!bench.lines.text.contains("1111"), "the number is not logged")
    }

    @Test("A warning stands beside that of the priority, and is that of the token")
    func severalWarnings() throws {
        let bench = try bench("warn")
        defer { bench.shard.leave() }
        let sent = request { request in
            request.notification.contentAvailable = true
            request.notification.localizations["de"] = .with { $0.body = Self.card }
            request.priority = 10
            request.packedTokens = Data()
            request.tokens = [[], ["123-45-6789"]].enumerated().map { index, arguments in
                .with {
                    $0.raw = Data(repeating: UInt8(index), count: 32)
                    $0.locArgs = arguments
                }
            }
        }
        let outcomes = try outcomes(bench, sent)
        let common = "'notification.localizations.de.body' has a payment card number at byte 0"
        #expect(outcomes.count == 2)
        for outcome in outcomes {
            let parts = outcome.warning.components(separatedBy: "; ")
            #expect(parts.first?.contains("priority 10 became 5") == true)
            #expect(parts.dropFirst().first == common)
        }
        #expect(outcomes.last?.warning.hasSuffix("; 'loc_args[0]' has a social-security number at byte 0") == true)
        #expect(counted(bench) == 2)
    }

    @Test("Tokens whose own texts have no number are not warned of")
    func ownTexts() throws {
        let bench = try bench("warn")
        defer { bench.shard.leave() }
        let sent = request { request in
            request.notification.alert.locKey = "k"
            request.packedTokens = Data()
            request.tokens = [["a"], [Self.card], []].enumerated().map { index, arguments in
                .with {
                    $0.raw = Data(repeating: UInt8(index), count: 32)
                    $0.locArgs = arguments
                }
            }
        }
        let outcomes = try outcomes(bench, sent)
        #expect(outcomes.map(\.warning) == ["", "'loc_args[0]' has a payment card number at byte 0", ""])
        #expect(counted(bench) == 1)
    }

    @Test("A refused number is a dead letter that names its place and has no digit of it in its headers")
    func refuses() throws {
        let bench = try bench("refuse")
        defer { bench.shard.leave() }
        let outcomes = try outcomes(
            bench,
            request { $0.payload = Data(#"{"aps":{"alert":"\#(Self.card)"}}"#.utf8) }
        )
        #expect(outcomes.map(\.kind) == [.deadLettered] && outcomes.first?.reason == "sensitive-data")
        #expect(outcomes.first?.warning == "")
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.count == 1)
        #expect(letters.first?.header("reason") == "sensitive-data")
        #expect(
            letters.first?.header("detail")
                == "'payload.aps.alert' has a payment card number at byte 0, and 'sensitive-data' is 'refuse'"
        )
        #expect(counted(bench) == 0)
        #expect(!bench.lines.text.contains("1111"), "the number is not logged")
    }

    @Test("Unless a bundle asks for it, texts are not searched")
    func off() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        let outcomes = try outcomes(
            bench,
            request { $0.payload = Data(#"{"aps":{"alert":"\#(Self.card)"}}"#.utf8) }
        )
        #expect(outcomes.count == 1 && outcomes.allSatisfy { $0.kind != .deadLettered && $0.warning.isEmpty })
    }
}
