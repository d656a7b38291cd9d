import APNsProtocol
import Foundation
import PushSchemas
import PushTopics
import Testing
import TokenState

@testable import PipelineTestSupport
@testable import TokenRoles

@Suite struct TombstoneDecoderTests {
    private static let token = [UInt8](repeating: 0xAB, count: 32)
    private static let key = TombstonePublisher.key(bundleID: "a.b", token: token)

    private func tombstone(_ change: (inout PushTombstone) -> Void = { _ in }) throws -> TestRecord {
        var tombstone = PushTombstone()
        tombstone.token = Data(Self.token)
        tombstone.bundleID = "a.b"
        tombstone.environment = "sandbox"
        tombstone.registeredAt = 5
        tombstone.tombstonedAt = 7
        tombstone.reason = .invalid
        change(&tombstone)
        return TestRecord(key: Self.key, value: try tombstone.serializedBytes())
    }

    private func change(_ kind: TokenChange.Kind, in environment: String) -> TokenChange {
        TokenChange(environment: environment, bundleID: "a.b", token: Self.token, kind: kind)
    }

    @Test(
        "A token that a gateway called invalid is dead again, a forgotten one is forgotten; others are for other topics"
    )
    func records() throws {
        // The first one counts, the last three are no tombstones.
        let records = [
            try tombstone(),
            try tombstone { $0.reason = .feedback }, try tombstone { $0.reason = .unregistered },
            try tombstone { $0.reason = .unspecified }, try tombstone { $0.registeredAt = 7 },
            try tombstone { $0.tombstonedAt = 0 }, try tombstone { $0.environment = "staging" },
            try tombstone { $0.tombstonedAt = 1 << 32 }, try tombstone { $0.token = Data() },
            TestRecord(key: Self.key, value: nil),
            TestRecord(key: Array("x".utf8), value: nil),
            TestRecord(key: Self.key, value: [0xFF]),
        ]
        let decoder = TombstoneDecoder(environments: ["production", "sandbox"])
        try withConsumed(records) { messages in
            try #require(messages.count == records.count)
            let first = try decoder.changes(for: messages[0])
            #expect(first == [change(.tombstone(at: 7, .invalid), in: "sandbox")])
            for number in Array(1...8) + [10] {
                let changes = try decoder.changes(for: messages[number])
                #expect(changes.isEmpty, "\(number)")
            }
            // The key of a removal names no environment.
            let milliseconds = try #require(messages[9].timestampMilliseconds)
            let kind = TokenChange.Kind.forgetInvalid(at: UInt32(milliseconds / 1000))
            let removals = try decoder.changes(for: messages[9])
            #expect(removals == [change(kind, in: "production"), change(kind, in: "sandbox")])
            let error = #expect(throws: RecordRefusal.self) { try decoder.changes(for: messages[11]) }
            #expect(error?.reason == "value-undecodable")
        }
    }

    @Test("A token that was refused for some kinds of topics is so again, also for a kind of a later version")
    func refusedKinds() throws {
        func refused(_ kind: Int, at seconds: Int64) -> PushRefusedKind {
            PushRefusedKind.with {
                $0.kind = PushTopicKind(rawValue: kind) ?? .unspecified
                $0.refusedAt = seconds
            }
        }
        let records = [
            try tombstone {
                $0.reason = .feedback
                // The last three say nothing: not later than the registration, or out of range.
                $0.refused = [
                    refused(2, at: 6), refused(200, at: 8), refused(1, at: 5), refused(0, at: 8),
                    refused(1, at: 1 << 32),
                ]
            },
            try tombstone { $0.refused = [refused(1, at: 9)] },
        ]
        try withConsumed(records) { messages in
            let decoder = TombstoneDecoder(environments: ["sandbox"])
            let some = try decoder.changes(for: messages[0])
            let kinds = [
                TokenChange.Kind.refuse(at: 6, TopicKind(rawValue: 2)), .refuse(at: 8, TopicKind(rawValue: 200)),
            ]
            #expect(some == kinds.map { change($0, in: "sandbox") })
            let both = try decoder.changes(for: messages[1])
            #expect(both.map(\.kind) == [.tombstone(at: 7, .invalid), .refuse(at: 9, .app)])
        }
    }

    @Test("Of a death that lies ahead of its record the record's time counts, beyond the hour that clocks may differ")
    func ahead() throws {
        let records = [try tombstone { $0.tombstonedAt = Int64(UInt32.max) }]
        try withConsumed(records) { messages in
            let message = try #require(messages.first)
            let milliseconds = try #require(message.timestampMilliseconds)
            let changes = try TombstoneDecoder(environments: ["sandbox"]).changes(for: message)
            #expect(changes == [change(.tombstone(at: UInt32(milliseconds / 1000), .invalid), in: "sandbox")])
        }
    }
}
