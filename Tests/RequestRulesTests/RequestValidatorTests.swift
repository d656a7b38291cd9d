import APNsProtocol
import Foundation
import PushSchemas
import Testing

@testable import RequestRules

@Suite("Requests are judged before they are published")
struct RequestValidatorTests {
    private let validator = RequestValidator(
        transport: .http2,
        payload: .byPushType,
        tokens: TokenRule(lengths: 32...100, spread: 1)
    )

    private func request(_ fill: (inout PushSendRequest) -> Void) -> PushSendRequest {
        PushSendRequest.with {
            $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
            $0.packedTokens = Data(repeating: 1, count: 32)
            fill(&$0)
        }
    }

    private func faults(
        _ validator: RequestValidator? = nil,
        key: String = "com.example.news",
        _ fill: (inout PushSendRequest) -> Void
    ) throws -> [RequestFault] {
        let value: [UInt8] = try request(fill).serializedBytes()
        return faults(validator, key: key, value: value)
    }

    private func faults(
        _ validator: RequestValidator? = nil,
        key: String = "com.example.news",
        value: [UInt8],
        as contentType: RecordContentType = .protobuf
    ) -> [RequestFault] {
        Array(key.utf8).withUnsafeBytes { key in
            value.withUnsafeBytes { (validator ?? self.validator).faults(key: key, value: $0, as: contentType) }
        }
    }

    @Test("A request that the worker takes has no fault, in either form")
    func right() throws {
        #expect(try faults { _ in }.isEmpty)
        let json = Array(try request { _ in }.jsonString().utf8)
        #expect(faults(value: json, as: .json).isEmpty)
    }

    @Test("Faults are told by reason, in the order of their coming, with all their tokens")
    func byReason() {
        var found = FaultsByReason()
        let (first, second) = (RecordRefusal(reason: "a", detail: "1"), RecordRefusal(reason: "b", detail: "2"))
        found.add(first, [7])
        found.add(second, [])
        found.add(RecordRefusal(reason: "a", detail: "3"), [3, 5])
        #expect(found.faults == [RequestFault(first, tokens: [3, 5, 7]), RequestFault(second)])
    }

    @Test("A record that is refused as a whole has one fault, and names no tokens")
    func wholeRecord() throws {
        let found = try faults { request in
            request.priority = 7
            request.packedTokens = Data(repeating: 1, count: 64)
        }
        #expect(found.map(\.refusal.reason) == ["priority-invalid"] && found.allSatisfy(\.tokens.isEmpty))
        #expect(faults(value: []).map(\.refusal.reason) == ["value-empty"])
        #expect(try faults(key: "a b") { _ in }.map(\.refusal.reason) == ["bundle-invalid"])
        #expect(try faults(key: "a#x") { _ in }.map(\.refusal.reason) == ["shard-invalid"])
        let large = [UInt8](repeating: 0, count: RequestValue.limitBytes + 1)
        let words = "value-too-large: the value has 1048577 bytes; 1048576 are allowed"
        #expect(faults(value: large).map(\.description) == [words])
    }

    @Test(
        "A named push type decides whether a payload has aps",
        arguments: [
            ("mdm", #"{"mdm":"x"}"#, true), ("mdm", #"{"mdm":"x","aps":{}}"#, false), ("background", "{}", true),
            ("fileprovider", #"{"container-identifier":"c","domain":"d"}"#, true), ("voip", #"{"call":1}"#, true),
            ("complication", #"{"n":1}"#, true), ("location", "{}", true), ("pushtotalk", #"{"speaker":"A"}"#, true),
            ("pushtotalk", #"{"aps":{}}"#, true), ("pushtotalk", #"{"aps":1}"#, false), ("alert", "{}", false),
            ("liveactivity", "{}", false), ("widgets", "{}", false), ("controls", "{}", false), ("", "{}", false),
            ("", #"{"mdm":"x"}"#, false),
        ]
    )
    func aps(pushType: String, payload: String, isRight: Bool) throws {
        func reasons(_ validator: RequestValidator) throws -> [String] {
            try faults(validator) { request in
                request.pushType = pushType
                request.payload = Data(payload.utf8)
            }.map(\.refusal.reason)
        }
        #expect(try reasons(validator) == (isRight ? [] : ["payload-invalid"]))
        // The binary interface knows no push types.
        var binary = validator
        binary.transport = .binary
        #expect(try reasons(binary).isEmpty == payload.contains(#""aps":{}"#))
    }

    @Test("A notification in parts has aps, and none can be made for mdm")
    func notificationWithoutAps() throws {
        for (pushType, reasons) in [("mdm", ["notification-invalid"]), ("voip", [])] as [(String, [String])] {
            let found = try faults { request in
                request.pushType = pushType
                request.notification.alert.body = "Hi"
            }
            #expect(found.map(\.refusal.reason) == reasons)
        }
    }

    @Test("JSON under no header is told with its cure")
    func cure() throws {
        let found = faults(value: Array(try request { _ in }.jsonString().utf8))
        #expect(found.first?.description.hasSuffix("looks like JSON: header content-type missing?") == true)
    }

    @Test("Faults of tokens come one for each reason, with the tokens that have them")
    func tokens() throws {
        let found = try faults { request in
            request.packedTokens = Data()
            request.tokens = [32, 3, 0, 101, 32].map { bytes in .with { $0.raw = Data(repeating: 1, count: bytes) } }
        }
        #expect(found.map(\.refusal.reason) == ["token-length", "token-missing"])
        #expect(found.map(\.tokens) == [[1, 3], [2]])
        #expect(found.first?.description == "token-length: the token has 3 bytes; allowed: 32...100 (token 1, 3)")
    }

    @Test("A token under another shard's key is a fault, where the spread is known")
    func shards() throws {
        var validator = validator
        let token = [UInt8](repeating: 1, count: 32)
        let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: 4) }
        validator.tokens = TokenRule(lengths: 32...100, spread: 4)
        #expect(try faults(validator, key: "a#\(shard)") { _ in }.isEmpty)
        let wrong = try faults(validator, key: "a#\((shard + 1) % 4)") { _ in }
        #expect(wrong.map(\.refusal.reason) == ["token-outside-shard"] && wrong.first?.tokens == [0])
        #expect(try faults(validator, key: "a") { _ in }.count == 1)
        validator.tokens = TokenRule(lengths: 32...100, spread: nil)
        #expect(try faults(validator, key: "a#3") { _ in }.isEmpty)
    }

    @Test("A token whose own values make its payload too long is a fault of that token, in its own language")
    func overrides() throws {
        func token(_ fill: (inout PushDeviceToken) -> Void) -> PushDeviceToken {
            .with {
                $0.raw = Data(repeating: 1, count: 32)
                fill(&$0)
            }
        }
        let found = try faults { request in
            request.notification.alert.locKey = "k"
            request.notification.localizations["de"] = .with { $0.locKey = String(repeating: "k", count: 4000) }
            request.packedTokens = Data()
            let args = [String(repeating: "x", count: 100)]
            request.tokens = [
                token { $0.locArgs = args }, token { $0.locale = "de" },
                token { token in
                    token.locArgs = args
                    token.locale = "de-AT"
                }, token { $0.badge = 5 },
            ]
        }
        #expect(found.map(\.tokens) == [[2]] && found.first?.refusal.reason == "payload-invalid")
    }
}
