import BelfrySupport
import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import SwiftProtobuf
import Testing
import TokenState

@testable import PipelineTestSupport
@testable import TokenRoles

@Suite struct RegistrationDecoderTests {
    private static let token = [UInt8](0..<32)
    private static let key = Array("com.example.news#3".utf8)
    private let decoder = RegistrationDecoder(environments: ["production", "sandbox"], tokenBytes: 32...100)

    private func registration(_ change: (inout PushRegistration) -> Void = { _ in }) throws -> [UInt8] {
        var registration = PushRegistration()
        registration.environment = "sandbox"
        registration.token.raw = Data(Self.token)
        registration.registeredAt = 1_400_000_000
        registration.locale = "de"
        registration.timeZone = "Europe/Berlin"
        change(&registration)
        return try registration.serializedBytes()
    }

    private func change(_ kind: TokenChange.Kind, of token: [UInt8] = token) -> TokenChange {
        TokenChange(environment: "sandbox", bundleID: "com.example.news", token: token, kind: kind)
    }

    private static let texts = TokenTexts(locale: "de", timeZone: "Europe/Berlin")

    @Test("A registration, in either form, becomes a registration with time, locale and time zone")
    func register() throws {
        let hex = Self.token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let json = #"""
            {"environment":"sandbox","token":{"hex":"\#(hex)"},
            "registeredAt":"1400000000","locale":"de","timeZone":"Europe/Berlin"}
            """#
        let header = ("content-type", Array("application/json".utf8))
        let records = [
            TestRecord(key: Self.key, value: try registration()),
            TestRecord(key: Self.key, value: try registration { $0.kind = .register }),
            TestRecord(key: Self.key, value: Array(json.utf8), headers: [header]),
            // As Spring writes it, and as CloudEvents' binary mode does.
            TestRecord(
                key: Self.key,
                value: Array(json.utf8),
                headers: [("contentType", Array(#""application/json""#.utf8))]
            ),
            TestRecord(
                key: Self.key,
                value: Array(json.utf8),
                headers: [("ce_specversion", Array("1.0".utf8)), ("ce_id", [0x31]), header]
            ),
        ]
        try withConsumed(records) { messages in
            #expect(messages.count == 5)
            for message in messages {
                let changes = try decoder.changes(for: message)
                #expect(changes == [change(.register(at: 1_400_000_000, Self.texts))])
            }
        }
    }

    @Test("A change of locale is told of the token, and is no registration")
    func describe() throws {
        try withConsumed([TestRecord(key: Self.key, value: try registration { $0.kind = .describe })]) { messages in
            let expected = [change(.describe(at: 1_400_000_000, Self.texts))]
            let changes = try decoder.changes(for: messages[0])
            #expect(changes == expected)
        }
    }

    @Test("A token that takes the place of another unregisters it at the same time; its own place it only keeps")
    func replacement() throws {
        let old = [UInt8](repeating: 9, count: 32)
        let records = [
            TestRecord(key: Self.key, value: try registration { $0.replacedToken.raw = Data(old) }),
            TestRecord(key: Self.key, value: try registration { $0.replacedToken.raw = Data(Self.token) }),
        ]
        try withConsumed(records) { messages in
            let registered = change(.register(at: 1_400_000_000, Self.texts))
            let replaced = change(.tombstone(at: 1_400_000_000, .unregistered), of: old)
            let changes = try messages.map { try decoder.changes(for: $0) }
            #expect(changes == [[registered, replaced], [registered]])
        }
    }

    @Test("An unregistration becomes a tombstone with that reason")
    func unregister() throws {
        try withConsumed([TestRecord(key: Self.key, value: try registration { $0.kind = .unregister })]) { messages in
            let changes = try decoder.changes(for: messages[0])
            #expect(changes == [change(.tombstone(at: 1_400_000_000, .unregistered))])
        }
    }

    @Test("Without a time of its own a registration has its record's, in whole seconds")
    func timeOfRecord() throws {
        try withConsumed([TestRecord(key: Self.key, value: try registration { $0.registeredAt = 0 })]) { messages in
            let milliseconds = try #require(messages[0].timestampMilliseconds)
            let at = UInt32(milliseconds / 1000)
            let changes = try decoder.changes(for: messages[0])
            #expect(changes == [change(.register(at: at, Self.texts))])
            #expect(at > 1_700_000_000)
        }
    }

    @Test("Without a name the only environment is meant")
    func onlyEnvironment() throws {
        let decoder = RegistrationDecoder(environments: ["sandbox"], tokenBytes: 32...32)
        try withConsumed([TestRecord(key: Self.key, value: try registration { $0.environment = "" })]) { messages in
            let changes = try decoder.changes(for: messages[0])
            #expect(changes.map(\.environment) == ["sandbox"])
        }
    }

    @Test("A token of another length is told with the one that is allowed, not with a range from it to itself")
    func onlyLength() throws {
        let decoder = RegistrationDecoder(environments: ["sandbox"], tokenBytes: 32...32)
        let record = TestRecord(key: Self.key, value: try registration { $0.token.raw = Data(count: 1) })
        try withConsumed([record]) { messages in
            let error = #expect(throws: RecordRefusal.self) { try decoder.changes(for: messages[0]) }
            #expect(error?.detail == "the token has 1 byte; allowed: 32")
        }
    }

    @Test("Every registration that cannot be used is refused with its reason")
    func refused() throws {
        let json = ("content-type", Array("application/json".utf8))
        let now = Int64(Date().timeIntervalSince1970)
        let table: [(reason: String, record: TestRecord)] = [
            ("value-empty", TestRecord(key: Self.key, value: [])),
            ("value-empty", TestRecord(key: Self.key, value: nil)),
            ("value-undecodable", TestRecord(key: Self.key, value: [0xFF, 0xFF])),
            ("value-undecodable", TestRecord(key: Self.key, value: Array(#"{"tokem":1}"#.utf8), headers: [json])),
            ("value-undecodable", TestRecord(key: Self.key, value: try registration { $0.kind = .UNRECOGNIZED(77) })),
            ("key-missing", TestRecord(key: nil, value: try registration())),
            ("key-without-bundle", TestRecord(key: Array("#1".utf8), value: try registration())),
            ("shard-invalid", TestRecord(key: Array("a.b#x".utf8), value: try registration())),
            ("bundle-invalid", TestRecord(key: Array("a}b".utf8), value: try registration())),
            ("environment-unknown", TestRecord(key: Self.key, value: try registration { $0.environment = "staging" })),
            ("environment-unknown", TestRecord(key: Self.key, value: try registration { $0.environment = "" })),
            ("token-missing", TestRecord(key: Self.key, value: try registration { $0.clearToken() })),
            ("token-missing", TestRecord(key: Self.key, value: try registration { $0.token.raw = Data() })),
            ("token-not-hexadecimal", TestRecord(key: Self.key, value: try registration { $0.token.hex = "0g" })),
            ("token-length", TestRecord(key: Self.key, value: try registration { $0.token.raw = Data(count: 31) })),
            ("token-length", TestRecord(key: Self.key, value: try registration { $0.token.raw = Data(count: 101) })),
            (
                "token-length",
                TestRecord(key: Self.key, value: try registration { $0.replacedToken.raw = Data(count: 1) })
            ),
            ("timestamp-out-of-range", TestRecord(key: Self.key, value: try registration { $0.registeredAt = -1 })),
            (
                "timestamp-out-of-range",
                TestRecord(key: Self.key, value: try registration { $0.registeredAt = 1 << 32 })
            ),
            (
                "timestamp-in-future",
                TestRecord(key: Self.key, value: try registration { $0.registeredAt = now + 3700 })
            ),
            (
                "timestamp-in-future",
                TestRecord(
                    key: Self.key,
                    value: try registration { ($0.kind, $0.registeredAt) = (.unregister, Int64(UInt32.max)) }
                )
            ),
        ]
        try withConsumed(table.map(\.record)) { messages in
            #expect(messages.count == table.count)
            for (row, message) in zip(table, messages) {
                let error = #expect(throws: RecordRefusal.self, "\(row.reason)") { try decoder.changes(for: message) }
                #expect(error?.reason == row.reason)
                #expect(error?.detail.isEmpty == false)
            }
        }
    }

    @Test("A producer whose clock is ahead is no witness of itself: the registrar's clock is one, too")
    func dated() throws {
        let now: Int64 = 1_600_000_000
        let year: Int64 = 31_536_000
        var decoder = decoder
        decoder.now = { now }
        // The time of the record, of the registration, and the one that is taken.
        let table: [(published: Int64, registered: Int64, taken: UInt32?)] = [
            (now + year, now + year, nil), (now + year, 0, nil), (now + year, now, UInt32(now)),
            (now + 3600, 0, UInt32(now + 3600)), (now + 3601, 0, nil), (now + 3600, now + 3601, nil),
            (now - year, now, nil), (now - year, 0, UInt32(now - year)),
        ]
        for row in table {
            let record = KafkaRecord(
                topic: "push.registrations",
                partition: 0,
                offset: 0,
                key: Self.key,
                value: try registration { $0.registeredAt = row.registered },
                timestampMilliseconds: row.published * 1000
            )
            let batch = KafkaBatch([record])
            if let taken = row.taken {
                let changes = try decoder.changes(for: batch[0])
                #expect(changes == [change(.register(at: taken, Self.texts))], "\(row)")
            } else {
                let error = #expect(throws: RecordRefusal.self, "\(row)") { try decoder.changes(for: batch[0]) }
                #expect(error?.reason == "timestamp-in-future")
            }
        }
    }

    @Test("The lengths and times at the ends of the range are taken")
    func limits() throws {
        let records = [
            TestRecord(key: Self.key, value: try registration { $0.token.raw = Data(count: 100) }),
            TestRecord(key: Self.key, value: try registration { $0.registeredAt = 1 }),
            // Not quite what is refused: the clock goes on.
            TestRecord(
                key: Self.key,
                value: try registration { $0.registeredAt = Int64(Date().timeIntervalSince1970) + 3590 }
            ),
        ]
        try withConsumed(records) { messages in
            for message in messages { #expect(throws: Never.self) { try decoder.changes(for: message) } }
        }
    }
}

@Suite struct FeedbackTupleDecoderTests {
    private let token = [UInt8](repeating: 0xAB, count: 32)

    private func tuple(_ change: (inout PushFeedbackTuple) -> Void = { _ in }) throws -> [UInt8] {
        var tuple = PushFeedbackTuple()
        tuple.environment = "production"
        tuple.timestamp = 1_400_000_000
        tuple.token = Data(token)
        tuple.harvestedAt = 1_500_000_000
        change(&tuple)
        return try tuple.serializedBytes()
    }

    @Test("A tuple becomes a tombstone at the service's time, not at that of its harvest, whatever is configured here")
    func tombstone() throws {
        try withConsumed([TestRecord(key: Array("a.b".utf8), value: try tuple())]) { messages in
            let expected = TokenChange(
                environment: "production",
                bundleID: "a.b",
                token: token,
                kind: .tombstone(at: 1_400_000_000, .feedback)
            )
            let changes = try FeedbackTupleDecoder(environments: []).changes(for: messages[0])
            #expect(changes == [expected])
        }
    }

    @Test("A tuple that cannot be used, or could do harm, is refused with its reason")
    func refused() throws {
        let key = Array("a.b".utf8)
        let table: [(reason: String, record: TestRecord)] = [
            ("value-empty", TestRecord(key: key, value: nil)),
            ("value-undecodable", TestRecord(key: key, value: [0xFF])),
            ("key-missing", TestRecord(key: nil, value: try tuple())),
            ("bundle-invalid", TestRecord(key: Array("a b".utf8), value: try tuple())),
            ("feedback-token-length", TestRecord(key: key, value: try tuple { $0.token = Data() })),
            ("feedback-token-length", TestRecord(key: key, value: try tuple { $0.token = Data(count: 31) })),
            ("feedback-token-length", TestRecord(key: key, value: try tuple { $0.token = Data(count: 65) })),
            ("feedback-token-length", TestRecord(key: key, value: try tuple { $0.token = Data(count: 65_535) })),
            ("feedback-timestamp-absurd", TestRecord(key: key, value: try tuple { $0.timestamp = 0 })),
            ("feedback-timestamp-absurd", TestRecord(key: key, value: try tuple { $0.timestamp = 1_245_196_799 })),
            ("feedback-timestamp-in-future", TestRecord(key: key, value: try tuple { $0.timestamp = 1_500_003_601 })),
            ("feedback-timestamp-in-future", TestRecord(key: key, value: try tuple { $0.timestamp = .max })),
            (
                "feedback-timestamp-in-future",
                TestRecord(
                    key: key,
                    value: try tuple {
                        $0.harvestedAt = 0
                        $0.timestamp = 1_600_003_601
                    }
                )
            ),
            ("tuple-incomplete", TestRecord(key: key, value: try tuple { $0.environment = "" })),
            ("environment-unknown", TestRecord(key: key, value: try tuple { $0.environment = "}" })),
            (
                "environment-unknown",
                TestRecord(key: key, value: try tuple { $0.environment = String(repeating: "a", count: 33) })
            ),
        ]
        try withConsumed(table.map(\.record)) { messages in
            #expect(messages.count == table.count)
            for (row, message) in zip(table, messages) {
                let error = #expect(throws: RecordRefusal.self, "\(row.reason)") {
                    try decoder.changes(for: message)
                }
                #expect(error?.reason == row.reason)
            }
        }
    }

    @Test("What is just inside the limits is applied")
    func limits() throws {
        let key = Array("a.b".utf8)
        let records = [
            TestRecord(key: key, value: try tuple { $0.token = Data(count: 64) }),
            TestRecord(key: key, value: try tuple { $0.timestamp = 1_245_196_800 }),
            TestRecord(key: key, value: try tuple { $0.timestamp = 1_500_003_600 }),
            TestRecord(
                key: key,
                value: try tuple {
                    $0.harvestedAt = 0
                    $0.timestamp = 1_600_003_600
                }
            ),
            TestRecord(
                key: key,
                value: try tuple {
                    $0.environment = "elsewhere"
                    $0.token = Data(count: 100)
                }
            ),
        ]
        try withConsumed(records) { messages in
            #expect(messages.count == records.count)
            for message in messages { #expect(throws: Never.self) { try decoder.changes(for: message) } }
        }
    }

    /// Tokens of 32 to 64 bytes, and it is the year 2020.
    private var decoder: FeedbackTupleDecoder {
        var production = EnvironmentSettings(name: "production", gateways: [])
        production.tokenLimitBytes = 64
        return FeedbackTupleDecoder(environments: [production]) { 1_600_000_000 }
    }
}
