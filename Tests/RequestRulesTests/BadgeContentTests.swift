import APNsProtocol
import Foundation
import PushSchemas
import Testing

@testable import RequestRules

@Suite("Badges of requests")
struct BadgeContentTests {
    private func request(_ fill: (inout PushSendRequest) -> Void) throws -> [UInt8] {
        try PushSendRequest.with {
            $0.packedTokens = Data(repeating: 1, count: 32)
            fill(&$0)
        }.serializedBytes()
    }

    private func content<R>(
        _ fill: (inout PushSendRequest) -> Void,
        _ body: (StructuredContent) throws -> R
    ) throws -> R {
        try request(fill).withUnsafeBytes { value in
            let view = try SendRequestView(decoding: value, as: .protobuf)
            return try body(#require(try StructuredContent(of: view, nil)))
        }
    }

    private func faults(_ fill: (inout PushSendRequest) -> Void) throws -> [String] {
        let validator = RequestValidator(
            transport: .http2,
            payload: .byPushType,
            tokens: TokenRule(lengths: 32...100, spread: 1)
        )
        let value = try request(fill)
        return Array("com.example.news".utf8).withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                validator.faults(key: key, value: value, as: .protobuf).map { "\($0)" }
            }
        }
    }

    private func own(_ badge: UInt32?) -> TokenOverrides {
        var own = TokenOverrides()
        own.badge = badge
        return own
    }

    @Test("A token's badge of its own is set, whatever the notification does with those of the others")
    func changes() throws {
        try content {
            $0.notification.badge.add = 2
        } _: { content in
            #expect(content.badgeChange(overrides: nil) == .add(2))
            #expect(content.badgeChange(overrides: own(nil)) == .add(2))
            #expect(content.badgeChange(overrides: own(0)) == .set(0))
        }
        try content {
            $0.notification.alert.body = "Hi"
        } _: { content in
            #expect(content.badgeChange(overrides: nil) == nil)
            #expect(content.badgeChange(overrides: own(7)) == .set(7))
        }
    }

    @Test("A notification with nothing but a sum is right, with priority 10 too; a change that is none is not")
    func rules() throws {
        #expect(
            try faults {
                $0.notification.badge.add = 1
                $0.priority = 10
            } == []
        )
        #expect(try faults { $0.notification.badge.clear = true } == [])
        #expect(
            try faults { $0.notification.badge.clear = false } == [
                "notification-invalid: 'notification.badge.clear' is false; true is allowed"
            ]
        )
        #expect(
            try faults { $0.notification.badge = PushBadge() } == [
                "notification-invalid: 'notification.badge' has no change: one of 'set', 'add' and 'clear' is required"
            ]
        )
    }

    @Test("The size of a payload is judged without its sum")
    func size() throws {
        func fill(_ request: inout PushSendRequest, _ bytes: Int) {
            request.notification.alert.body = String(repeating: "x", count: bytes)
            request.notification.badge.add = 1
        }
        let rest = #"{"aps":{"alert":""}}"#.utf8.count
        #expect(try faults { fill(&$0, 4096 - rest) } == [])
        #expect(try faults { fill(&$0, 4097 - rest) }.count == 1)
        #expect(
            try faults {
                fill(&$0, 4096 - rest)
                $0.notification.badge.set = 1
            }.count == 1
        )
    }

    @Test("A priority that falls only where a token has no number yet brings no warning")
    func warning() throws {
        func warning(_ fill: (inout PushNotification) -> Void) throws -> String {
            try content {
                $0.priority = 10
                $0.notification.contentAvailable = true
                fill(&$0.notification)
            } _: {
                $0.warning(for: nil)
            }
        }
        #expect(try warning { $0.badge.add = 1 } == "")
        #expect(try warning { _ in }.contains("priority 10 became 5"))
    }
}
