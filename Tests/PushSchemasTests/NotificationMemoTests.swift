import Foundation
import SwiftProtobuf
import Testing

@testable import PushSchemas

@Suite("The notification decoded last")
struct NotificationMemoTests {
    private let memo = NotificationMemo()

    private func value(_ fill: (inout PushNotification) -> Void) throws -> [UInt8] {
        let request = PushSendRequest.with {
            fill(&$0.notification)
            $0.packedTokens = Data(repeating: 1, count: 32)
        }
        return try request.serializedBytes()
    }

    private func decode(_ value: [UInt8]) throws -> DecodedNotification? {
        try value.withUnsafeBytes { bytes in
            try SendRequestView(decoding: bytes, as: .protobuf, memo: memo).decodedNotification
        }
    }

    @Test("The same bytes are decoded once, and others anew")
    func sameBytes() throws {
        let goal = try value { $0.alert.body = "Goal" }
        let first = try decode(goal)
        #expect(first?.message.alert.body == "Goal")
        #expect(try decode(goal) === first)
        let other = try decode(value { $0.alert.body = "Foul" })
        #expect(other?.message.alert.body == "Foul" && other !== first)
        let again = try decode(goal)
        #expect(again?.message.alert.body == "Goal" && again !== first, "only the last one is kept")
    }

    @Test("A notification in two parts is merged, whatever the memo has")
    func parts() throws {
        let goal = try value { $0.alert.body = "Goal" }
        let first = try decode(goal)
        var parts = goal
        parts += try PushSendRequest.with { $0.notification.category = "sport" }.serializedBytes() as [UInt8]
        let merged = try decode(parts)
        #expect(merged?.message.alert.body == "Goal" && merged?.message.category == "sport")
        #expect(try decode(parts) === merged, "the parts together are the last one")
        #expect(try decode(goal)?.message == first?.message && first?.message.category == "")
    }

    @Test("Bytes that are no notification leave the last one as it is")
    func malformed() throws {
        let goal = try value { $0.alert.body = "Goal" }
        let first = try decode(goal)
        let field13: [UInt8] = [13 << 3 | 2, 2, 0x0A, 0x7F]
        #expect(throws: RecordError.self) { try decode(field13) }
        #expect(try decode(goal) === first)
    }

    @Test("An empty notification is one, and a request with a payload has none")
    func empty() throws {
        let empty = try decode(value { $0 = PushNotification() })
        #expect(empty?.message == PushNotification())
        let payload =
            try PushSendRequest.with {
                $0.payload = Data("{}".utf8)
                $0.packedTokens = Data(repeating: 1, count: 32)
            }.serializedBytes() as [UInt8]
        #expect(try decode(payload) == nil)
    }
}
