import APNsProtocol
import BelfrySupport
import BelfryTools
import Foundation
import KafkaClient
import PushTopics
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Tests of `belfry tokens`, with a real server and the embedded broker.
@Suite struct TokenToolsTests {
    private static let environment = EnvironmentSettings(name: TokenStore.environment, gateways: [])

    private func tokens(_ count: Int, seed: UInt64 = 8) -> [[UInt8]] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in random.bytes(32) }
    }

    @Test("A walk hands over every token of the bundle with what is known of it, and of no other")
    func walk() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = tokens(5000)
        var changes = tokens.enumerated().map { index, token in
            TokenChange.of(token, .register(at: UInt32(index + 1), TokenTexts(locale: "de")))
        }
        var foreign = TokenChange.of(self.tokens(1, seed: 9)[0], .register(at: 1, TokenTexts()))
        foreign.bundleID += ".other"
        changes.append(foreign)
        for answer in try await store.make(changes) { _ = try answer.get() }
        let inspector = try TokenInspector(redisURL: "redis://127.0.0.1:\(server.port)")
        var found: [[UInt8]: UInt32] = [:]
        var shares: [Double] = []
        let unreadable = try inspector.walk(
            environment: TokenStore.environment,
            bundleID: TokenStore.bundleID
        ) { page, share in
            shares.append(share)
            for report in page {
                #expect(found.updateValue(report.registeredAt, forKey: report.token) == nil)
                #expect(report.locale == "de")
            }
            return true
        }
        #expect(unreadable == 0)
        #expect(found.count == 5000)
        for (index, token) in tokens.enumerated() { #expect(found[token] == UInt32(index + 1)) }
        #expect(shares == shares.sorted() && shares.allSatisfy { (0...1).contains($0) })
        #expect(try inspector.count() == .init(registered: 5001, tombstoned: 0))
        var pages = 0
        _ = try inspector.walk(environment: TokenStore.environment, bundleID: TokenStore.bundleID) { _, _ in
            pages += 1
            return false
        }
        #expect(pages == 1)
        inspector.close()
        try await store.close()
    }

    @Test("A record of a layout that is not known is counted, and the others are handed over")
    func unreadable() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = tokens(2)
        try await store.set(tokens[0], [64, 0, 0, 0, 0])
        for answer in try await store.make([.of(tokens[1], .register(at: 5, TokenTexts()))]) { _ = try answer.get() }
        let inspector = try TokenInspector(redisURL: "redis://127.0.0.1:\(server.port)")
        var found: [[UInt8]] = []
        let unreadable = try inspector.walk(environment: TokenStore.environment, bundleID: TokenStore.bundleID) {
            page,
            _ in
            found += page.map(\.token)
            return true
        }
        #expect(unreadable == 1)
        #expect(found == [tokens[1]])
        inspector.close()
        try await store.close()
    }

    @Test("A forgotten token is gone from Redis, and its removal is in push.tombstones, each time it is asked for")
    func forget() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = tokens(3)
        let changes = tokens.map { TokenChange.of($0, .tombstone(at: 7, .feedback)) }
        for answer in try await store.make(changes) { _ = try answer.get() }
        let broker = try EmbeddedBroker(topics: [(name: "push.tombstones", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let inspector = try TokenInspector(redisURL: "redis://127.0.0.1:\(server.port)")
        func forget(_ input: TokenInput) throws -> ForgetReport {
            try TokenForgetting.forget(
                input,
                bundleID: TokenStore.bundleID,
                environment: Self.environment,
                inspector: inspector,
                through: settings
            )
        }
        let some = TokenInput.listed([Hex.encode(tokens[0]), Hex.encode(tokens[2])])
        #expect(throws: ToolError.self) { try forget(.listed([Hex.encode(tokens[1]), "zz"])) }
        let first = try forget(some)
        #expect(first.tokens == 2 && first.known == 2)
        #expect(try await store.records(tokens).map { $0 == nil } == [true, false, true])
        let again = try forget(some)
        #expect(again.tokens == 2 && again.known == 0)
        let keys = [0, 2].map { TombstonePublisher.key(bundleID: TokenStore.bundleID, token: tokens[$0]) }
        let records = try read(settings)
        #expect(records.map(\.key) == keys + keys)
        #expect(records.allSatisfy { $0.isRemoval })
        inspector.close()
        try await store.close()
    }

    @Test("Everything that is known of a token is shown")
    func show() throws {
        var record = TokenRecord()
        record.registeredAt = 1_700_000_000
        record.describedAt = 1_700_000_100
        record.tombstonedAt = 1_700_000_200
        record.reason = .invalid
        record.badge = 3
        record.texts = TokenTexts(locale: "pt-BR", timeZone: "America/Sao_Paulo")
        let report = TokenReport(record, of: [0xAB, 0xCD])
        #expect(
            report.text == """
                state: dead
                registered at: 2023-11-14T22:13:20.000Z
                described at: 2023-11-14T22:15:00.000Z
                tombstoned at: 2023-11-14T22:16:40.000Z (invalid-token)
                locale: pt-BR
                time zone: America/Sao_Paulo
                badge: 3
                """
        )
        #expect(
            report.json == #"{"token":"abcd","state":"dead","registered_at":"2023-11-14T22:13:20.000Z","#
                + #""described_at":"2023-11-14T22:15:00.000Z","tombstoned_at":"2023-11-14T22:16:40.000Z","#
                + #""reason":"invalid-token","locale":"pt-BR","time_zone":"America/Sao_Paulo","badge":3}"#
        )
    }

    @Test("Kinds of topics for which a token was refused are shown by name; it is neither alive nor dead")
    func refusedKinds() {
        var record = TokenRecord()
        record.registeredAt = 1_700_000_000
        record.refused = [2, 200].map { RefusedKind(kind: TopicKind(rawValue: $0), at: 1_700_000_200) }
        let report = TokenReport(record, of: [0xAB])
        #expect(
            report.text == """
                state: refused
                registered at: 2023-11-14T22:13:20.000Z
                described at: 2023-11-14T22:13:20.000Z
                tombstoned at: never (none)
                refused at: 2023-11-14T22:16:40.000Z (voip)
                refused at: 2023-11-14T22:16:40.000Z (kind-200)
                locale:\u{20}
                time zone:\u{20}
                badge:\u{20}
                """
        )
        let refused = #""refused":{"voip":"2023-11-14T22:16:40.000Z","kind-200":"2023-11-14T22:16:40.000Z"}"#
        #expect(report.json.contains(#""state":"refused""#) && report.json.contains(refused))
    }

    @Test("JSON leaves out when a token registered or died if it never did")
    func never() {
        #expect(
            TokenReport(TokenRecord(), of: [0xAB]).json
                == #"{"token":"ab","state":"alive","reason":"none","locale":"","time_zone":""}"#
        )
    }

    private func read(_ settings: KafkaSettings) throws -> [(key: [UInt8], isRemoval: Bool)] {
        try contents(of: "push.tombstones", brokers: settings.brokers).flatMap { batch in
            (0..<batch.count).map { (Array(batch[$0].key), batch[$0].value.baseAddress == nil) }
        }
    }
}
