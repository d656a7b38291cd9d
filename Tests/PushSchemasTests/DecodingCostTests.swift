import Foundation
import SwiftProtobuf
import Testing

@testable import PushSchemas

/// A record costs what its bytes cost: values of a few bytes are bounded in number, and nothing is copied again and
/// again.
@Suite("The cost of decoding")
struct DecodingCostTests {
    private static let token: [UInt8] = [6 << 3 | 2, 32] + [UInt8](repeating: 1, count: 32)

    private func fault(_ value: [UInt8], _ type: RecordContentType = .protobuf) -> RecordFault? {
        value.withUnsafeBytes { bytes in
            do throws(RecordError) {
                _ = try SendRequestView(decoding: bytes, as: type)
                return nil
            } catch {
                return error.fault
            }
        }
    }

    private func notification(_ value: [UInt8], _ type: RecordContentType = .protobuf) throws -> PushNotification? {
        try value.withUnsafeBytes { try SendRequestView(decoding: $0, as: type).notification }
    }

    private func size(_ fill: (inout PushNotification) -> Void) throws -> NotificationSize {
        let bytes: [UInt8] = try PushNotification.with(fill).serializedBytes()
        var size = NotificationSize()
        bytes.withUnsafeBytes { size.count($0) }
        return size
    }

    // MARK: Protobuf

    @Test("A notification in tens of thousands of parts is refused, and one in many is merged in one go")
    func parts() throws {
        let part: [UInt8] = [0x6A, 0x04, 0x0A, 0x02, 0x2A, 0x00]
        func value(_ count: Int) -> [UInt8] { Self.token + (0..<count).flatMap { _ in part } }
        #expect(fault(value(60_000)) == .notificationTooLarge)
        #expect(fault(value(170_000)) == .notificationTooLarge)
        #expect(fault(Self.token + (0..<500_000).flatMap { _ in [0x6A, 0x00] as [UInt8] }) == .notificationTooLarge)
        // Each part is the notification, an alert, and an argument.
        #expect(try notification(value(10))?.alert.locArgs.count == 10)
    }

    @Test("Parts that are no messages by themselves are refused, though together they would be one")
    func brokenParts() {
        let broken: [UInt8] = [0x6A, 2, 0x0A, 2] + [0x6A, 2, 0x2A, 0]
        #expect(fault(Self.token + broken) == .valueUndecodable)
        // The payload behind them does not mend it.
        #expect(fault(Self.token + [0x6A, 1, 0x0A, 0x22, 2] + Array("{}".utf8)) == .valueUndecodable)
    }

    @Test("Fields are counted at all depths, a member of an object or a value of a list as one")
    func fields() throws {
        #expect(try size { $0.alert.title = "t" }.fields == 2)
        #expect(try size { $0.badge.set = 1 }.fields == 2)
        #expect(try size { $0.sound.name = "s" }.fields == 2)
        let list = Google_Protobuf_Value(listValue: [1, 2, .init(structValue: ["c": 3])])
        #expect(try size { $0.custom = ["a": 1, "b": list] }.fields == 7)
        #expect(try size { $0.liveActivity.contentState = ["a": 1] }.fields == 3)
        #expect(try size { $0.liveActivity.attributes = ["a": 1] }.fields == 3)
        #expect(try size { $0.localizations["de"] = PushAlert.with { $0.locArgs = ["x", "y"] } }.fields == 3)
        #expect(try size { $0.category = "c" } == size { $0.shorten = true })
    }

    @Test("More fields than any payload has room for are refused, whatever they are")
    func mostFields() throws {
        func value(_ fill: (inout PushNotification) -> Void) throws -> [UInt8] {
            Self.token + (try PushSendRequest.with { fill(&$0.notification) }.serializedBytes() as [UInt8])
        }
        // Beside them there are the notification itself and the alert.
        let most = NotificationSize.fieldLimit - 2
        #expect(fault(try value { $0.alert.locArgs = .init(repeating: "", count: most) }) == nil)
        #expect(fault(try value { $0.alert.locArgs = .init(repeating: "", count: most + 1) }) == .notificationTooLarge)
        let list = Google_Protobuf_ListValue(values: .init(repeating: true, count: most))
        #expect(fault(try value { $0.custom = ["l": .init(listValue: list)] }) == .notificationTooLarge)
        // Unknown fields, and keys of one member that come again.
        #expect(fault(Self.token + Self.notification(.init(repeating: 0x78, count: 40_000))) == .notificationTooLarge)
        let keys = (0..<20_000).flatMap { _ in [0x0A, 0x00] as [UInt8] }
        let member = Self.field(13, Self.field(1, keys))
        #expect(fault(Self.token + Self.notification(member)) == .notificationTooLarge)
    }

    @Test("A message that comes again inside of a value is merged a few times, not thousands of times")
    func repetitions() throws {
        func value(_ count: Int) -> [UInt8] {
            let object = Self.field(5, Self.field(1, Self.field(1, [0x61])))
            let member = Self.field(1, [0x6B]) + Self.field(2, (0..<count).flatMap { _ in object })
            return Self.token + Self.notification(Self.field(13, Self.field(1, member)))
        }
        let most = NotificationSize.repetitionLimit
        #expect(try notification(value(most + 1))?.custom.fields["k"]?.structValue.fields.count == 1)
        #expect(fault(value(most + 2)) == .notificationTooLarge)
    }

    @Test("A record has at most as many tokens as fit into it packed")
    func tokens() {
        let payload = [UInt8](Self.field(3, Array("{}".utf8)))
        func value(_ count: Int) -> [UInt8] { payload + (0..<count).flatMap { _ in [0x2A, 0x00] as [UInt8] } }
        #expect(fault(value(SendRequestView.tokenLimit)) == nil)
        #expect(fault(value(SendRequestView.tokenLimit + 1)) == .tokensTooMany)
        #expect(SendRequestView.tokenLimit * SendRequestView.packedTokenBytes == 1 << 20)
    }

    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length = content.count
        var bytes = [number << 3 | 2]
        while length > 0x7F {
            bytes.append(UInt8(length & 0x7F) | 0x80)
            length >>= 7
        }
        return bytes + [UInt8(length)] + content
    }

    private static func notification(_ content: [UInt8]) -> [UInt8] { field(13, content) }

    // MARK: JSON

    private func size(_ json: String) -> JSONSize {
        var json = json
        return json.withUTF8 { JSONSize(of: UnsafeRawBufferPointer($0)) }
    }

    @Test("The values of a JSON text are its members and elements; what stands in strings is none")
    func values() {
        #expect(size(#"{"a": 1}"#).values == 1)
        #expect(size(#"{"a": [1, 2, {"b": 3}], "c,[": "\\,[{\""}"#).values == 6)
        let request = size(#"{"tokens": [1, 2], "notification": {"a": [1, 2]}, "x": {"notification": 5}}"#)
        #expect(request.values == 9 && request.notificationValues == 3)
        for broken in ["", "\"", "\"\\", "]]]]", "{\"a\":\"", ":::"] { #expect(size(broken).notificationValues == 0) }
    }

    @Test("A JSON text with too many values is refused before it is decoded")
    func mostValues() {
        let tokens = [String](repeating: "1", count: JSONSize.limit).joined(separator: ",")
        #expect(fault(Array(#"{"payloadJson": "{}", "tokens": [\#(tokens)]}"#.utf8), .json) == .valueTooLarge)
        let values = [String](repeating: "1", count: NotificationSize.fieldLimit).joined(separator: ",")
        let custom = #"{"notification": {"custom": {"l": [\#(values)]}}, "tokens": ["00"]}"#
        #expect(fault(Array(custom.utf8), .json) == .notificationTooLarge)
    }

    @Test("A notification nested as deep as may be comes out of JSON as it is, and is not encoded again")
    func nested() throws {
        let depth = 20
        let inner = String(repeating: #"{"k":["#, count: depth) + "1" + String(repeating: "]}", count: depth)
        let text = Array(#"{"notification": {"custom": \#(inner)}, "tokens": ["00ff"]}"#.utf8)
        let memo = NotificationMemo()
        let views = try (0..<2).map { _ in
            try text.withUnsafeBytes { try SendRequestView(decoding: $0, as: .json, memo: memo).decodedNotification }
        }
        #expect(views[0]?.message == (try PushNotification(jsonString: #"{"custom": \#(inner)}"#)))
        #expect(views[0] === views[1], "the memo knows it again")
        // The binary form of the same is another's, until it is the last one.
        let binary: [UInt8] = try PushSendRequest.with {
            $0.notification = PushNotification()
            $0.packedTokens = Data(repeating: 1, count: 32)
        }.serializedBytes()
        let other = try binary.withUnsafeBytes {
            try SendRequestView(decoding: $0, as: .protobuf, memo: memo).decodedNotification
        }
        #expect(other?.message == PushNotification())
    }

    @Test("The path to a fault has no key as long as the record")
    func longKey() {
        let key = String(repeating: "x", count: 100_000)
        let bodies = [String](repeating: #""body": "b""#, count: 5000).joined(separator: ", ")
        let text = #"{"notification": {"localizations": {"\#(key)": {\#(bodies), "title": 1}}}, "tokens": ["00ff"]}"#
        let error = Array(text.utf8).withUnsafeBytes { bytes in
            #expect(throws: RecordError.self) { try SendRequestView(decoding: bytes, as: .json) }
        }
        #expect(error?.message.contains("'notification.localizations.….title' is a number") == true)
    }

    @Test("Plain tokens are seen before the text is decoded, which would go wrong as late as there")
    func hasPlainTokens() {
        #expect(size(#"{"requestId": "tokens", "tokens": ["00ff"]}"#).hasPlainTokens)
        #expect(size(#"{"tokens": [{"hex": "00"}, "00ff"]}"#).hasPlainTokens)
        for text in [
            #"{"tokens": [{"hex": "00ff"}], "requestId": "tokens"}"#, #"{"notification": {"tokens": ["00ff"]}}"#,
            #"{"tokens": [], "x": ["00ff"]}"#, #"{"token": ["00ff"]}"#, #"["tokens", ["00ff"]]"#,
        ] { #expect(!size(text).hasPlainTokens, "\(text)") }
    }

    @Test("Lists of plain tokens that come again and again are looked through once")
    func plainTokens() {
        let lists = [String](repeating: #""tokens": ["00ff"]"#, count: 20_000).joined(separator: ", ")
        #expect(fault(Array(#"{"payloadJson": "{}", \#(lists)}"#.utf8), .json) == nil)
    }
}
