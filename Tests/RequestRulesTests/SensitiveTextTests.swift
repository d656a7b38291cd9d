import APNsProtocol
import Foundation
import PushSchemas
import Testing

@testable import RequestRules

@Suite("Sensitive numbers are refused or warned of, where a bundle asks for it")
struct SensitiveTextTests {
    private static let card = "4111 1111 1111 1111"
    private static let security = "123-45-6789"

    private func validator(_ policy: SensitiveDataPolicy) -> RequestValidator {
        RequestValidator(
            transport: .http2,
            payload: .byPushType,
            tokens: TokenRule(lengths: 32...100, spread: 1),
            sensitiveData: policy
        )
    }

    private func value(_ fill: (inout PushSendRequest) -> Void) throws -> [UInt8] {
        try PushSendRequest.with {
            $0.packedTokens = Data(repeating: 1, count: 64)
            fill(&$0)
        }.serializedBytes()
    }

    private func faults(
        _ fill: (inout PushSendRequest) -> Void,
        _ policy: SensitiveDataPolicy = .refuse
    ) throws -> [RequestFault] {
        let value = try value(fill)
        return Array("com.example.news".utf8).withUnsafeBytes { key in
            value.withUnsafeBytes { validator(policy).faults(key: key, value: $0, as: .protobuf) }
        }
    }

    private func warning(
        _ fill: (inout PushSendRequest) -> Void,
        _ policy: SensitiveDataPolicy = .warn
    ) throws -> String? {
        try value(fill).withUnsafeBytes { validator(policy).warning(value: $0, as: .protobuf) }
    }

    private func payload(_ json: String) -> (inout PushSendRequest) -> Void {
        { $0.payload = Data(json.utf8) }
    }

    private func notification(
        _ fill: @escaping (inout PushNotification) -> Void
    ) -> (inout PushSendRequest) -> Void {
        { fill(&$0.notification) }
    }

    private func tokens(_ arguments: [[String]]) -> (inout PushSendRequest) -> Void {
        { request in
            request.notification.alert.locKey = "k"
            request.packedTokens = Data()
            request.tokens = arguments.enumerated().map { index, arguments in
                .with {
                    $0.raw = Data(repeating: UInt8(index), count: 32)
                    $0.locArgs = arguments
                }
            }
        }
    }

    @Test("Kind, place and byte are told of a number in any text of a payload")
    func payloads() throws {
        let cases = [
            (#"{"aps":{"alert":"Card \#(Self.card)"}}"#, "'payload.aps.alert' has a payment card number at byte 5"),
            (
                #"{"aps":{"alert":{"title":"a","body":"\#(Self.security)"}}}"#,
                "'payload.aps.alert.body' has a social-security number at byte 0"
            ),
            (
                #"{"aps":{"alert":{"loc-key":"k","loc-args":["é","é \#(Self.card)"]}}}"#,
                "'payload.aps.alert.loc-args[1]' has a payment card number at byte 3"
            ),
            (
                #" { "aps" : { "alert" : "\u0034\u0031\u00311 1111 \u0031111 1\u0031\u0031\u0031" } } "#,
                "'payload.aps.alert' has a payment card number at byte 0"
            ),
        ]
        for (json, words) in cases {
            let refused = try faults(payload(json))
            let expected = RecordRefusal(reason: "sensitive-data", detail: "\(words), and 'sensitive-data' is 'refuse'")
            #expect(refused == [RequestFault(expected)], "\(json)")
            #expect(try warning(payload(json)) == words)
            #expect(try faults(payload(json), .warn).isEmpty && faults(payload(json), .off).isEmpty)
            #expect(try warning(payload(json), .off) == nil && warning(payload(json), .refuse) == nil)
        }
    }

    @Test("Texts that the device does not show are not looked at")
    func notShown() throws {
        let json = #"{"card":"\#(Self.card)","aps":{"alert":"Hi","category":"\#(Self.card)"}}"#
        #expect(try faults(payload(json)).isEmpty)
        #expect(try warning(payload(json)) == nil)
    }

    @Test("Each text of a notification in parts is looked at, with the path of its field")
    func parts() throws {
        let card = Self.card
        let cases: [(String, (inout PushAlert) -> Void)] = [
            ("title", { $0.title = card }), ("subtitle", { $0.subtitle = card }), ("body", { $0.body = card }),
            ("loc_args[0]", { $0.locArgs = [card] }), ("title_loc_args[1]", { $0.titleLocArgs = ["", card] }),
            ("subtitle_loc_args[0]", { $0.subtitleLocArgs = [card] }), ("summary_arg", { $0.summaryArg = card }),
        ]
        for (field, fill) in cases {
            #expect(
                try warning(notification { fill(&$0.alert) })
                    == "'notification.alert.\(field)' has a payment card number at byte 0"
            )
            let localized = notification { message in
                message.alert.body = "Hi"
                message.localizations["en"] = .with { $0.body = "Hi" }
                message.localizations["de"] = .with(fill)
            }
            let words = "'notification.localizations.de.\(field)' has a payment card number at byte 0"
            #expect(try warning(localized) == words)
            #expect(try faults(localized).map(\.refusal.reason) == ["sensitive-data"])
        }
    }

    @Test("A language tag that is such a number itself is not told")
    func tag() throws {
        let found = try faults(
            notification { message in
                message.alert.body = "Hi"
                message.localizations["4111-1111-1111-1111"] = .with { $0.body = Self.card }
            }
        )
        #expect(found.map(\.refusal.detail).allSatisfy { !$0.contains("1111") } && found.count == 1)
        #expect(found.first?.refusal.detail.hasPrefix("'notification.localizations.body' has") == true)
    }

    @Test("Arguments of single tokens refuse those tokens alone")
    func ownArguments() throws {
        let request = tokens([["a"], ["b", Self.card], [], [Self.security]])
        let detail = "'loc_args[1]' has a payment card number at byte 0, and 'sensitive-data' is 'refuse'"
        let expected = RequestFault(RecordRefusal(reason: "sensitive-data", detail: detail), tokens: [1, 3])
        #expect(try faults(request) == [expected])
        #expect(try warning(request) == "'loc_args[1]' has a payment card number at byte 0")
        #expect(try faults(request, .warn).isEmpty && faults(request, .off).isEmpty)
        #expect(try warning(tokens([["a"], ["b"]])) == nil)
    }

    @Test("A text is judged as it was published, before it is shortened")
    func shortened() throws {
        let found = try faults(
            notification { message in
                message.alert.body = String(repeating: "x ", count: 3000) + Self.card
                message.shorten = true
            }
        )
        #expect(found.map(\.refusal.reason) == ["sensitive-data"])
    }

    @Test("Another fault of the record is told first")
    func otherFaults() throws {
        let card = Self.card
        #expect(
            try faults(payload(#"{"aps":{"alert":"\#(card)"},}"#)).map(\.refusal.reason) == ["payload-invalid"]
        )
        let long = notification { $0.alert.body = card + String(repeating: "x", count: 5000) }
        #expect(try faults(long).map(\.refusal.reason) == ["payload-invalid"])
    }
}
