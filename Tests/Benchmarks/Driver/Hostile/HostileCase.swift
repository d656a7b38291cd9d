import Foundation
import PushSchemas
import PushTopics
import Workbench

/// A record that a publisher with bad intentions could write.
struct HostileRecord: Equatable, Sendable {
    var key: [UInt8]
    var value: [UInt8]
    var headers: [(name: String, value: [UInt8])] = []

    /// Key, value and headers.
    var bytes: Int { key.count + value.count + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.count } }

    static func == (left: Self, right: Self) -> Bool {
        left.key == right.key && left.value == right.value && left.headers.elementsEqual(right.headers) { $0 == $1 }
    }
}

/// The aim of a hostile record: the part of the worker that is to work more than the record's bytes are worth, or to
/// hold more than it counts. Pure and seeded: the same record for the same numbers.
enum HostileCase: String, CaseIterable, Sendable {
    // Decoders.
    case repeatedNotification = "repeated-notification"
    case repeatedPayload = "repeated-payload"
    case nestedFields = "nested-fields"
    case nestedJSON = "nested-json"
    case nestedMapping = "nested-mapping"
    case jsonEscapes = "json-escapes"
    case mappingEscapes = "mapping-escapes"
    case unknownFields = "unknown-fields"
    // Tokens.
    case alternatingFaults = "alternating-faults"
    case emptyTokens = "empty-tokens"
    case packedTokens = "packed-tokens"
    case countedBadges = "counted-badges"
    case coalescedTokens = "coalesced-tokens"
    case coalescedBadges = "coalesced-badges"
    // Renderers.
    case shortenedBadges = "shortened-badges"
    case ownArguments = "own-arguments"
    case localizations
    case graphemes
    // Log lines.
    case longName = "long-name"
    // Headers.
    case headersAtLimit = "headers-at-limit"
    case headersOverLimit = "headers-over-limit"
    case manyHeaders = "many-headers"

    /// - Parameters:
    ///   - bytes: most bytes of the value, at least 4096.
    ///   - random: gives tokens and texts.
    func record(of bundleID: String, bytes: Int, _ random: inout SeededGenerator) -> HostileRecord {
        precondition(bytes >= 4096)
        var value = ProtobufBytes()
        var headers: [(name: String, value: [UInt8])] = []
        switch self {
        case .repeatedNotification:
            value.field(6, random.bytes(32))
            value.repeats([0x6A, 4, 0x0A, 2, 0x2A, 0], upTo: bytes)
        case .repeatedPayload:
            value.field(6, random.bytes(32))
            value.repeats([0x1A, 2, 0x7B, 0x7D], upTo: bytes)
        case .nestedFields:
            value.field(6, random.bytes(32))
            value.fields(upTo: bytes) { _ in (13, Self.message { $0.field(13, Self.nestedStruct(depth: 96)) }) }
        case .nestedJSON:
            let room = bytes - 64
            let nest = String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + ","
            let text = #"{"aps":{},"n":["# + String(repeating: nest, count: room / nest.utf8.count) + "0]}"
            value.field(6, random.bytes(32))
            value.field(3, Array(text.utf8))
        case .nestedMapping:
            headers.append(Self.json)
            let nest = String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + ","
            let count = (bytes - 200) / nest.utf8.count
            value.bytes = Array(
                (#"{"notification":{"custom":{"n":["# + String(repeating: nest, count: count)
                    + #"0]}},"tokens":["\#(Self.hex(random.bytes(32)))"]}"#).utf8
            )
        case .jsonEscapes:
            value.field(6, random.bytes(32))
            value.field(3, Array((#"{"aps":{"alert":""# + Self.escapes(bytes - 64) + #""}}"#).utf8))
        case .mappingEscapes:
            headers.append(Self.json)
            value.bytes = Array(
                (#"{"requestId":""# + Self.escapes(bytes - 200) + #"","payloadJson":"{\"aps\":{}}","tokens":[""#
                    + Self.hex(random.bytes(32)) + #""]}"#).utf8
            )
        case .unknownFields:
            value.field(6, random.bytes(32))
            value.field(3, Self.payload)
            // Groups of a number that the message does not have, one in the other.
            value.repeats([0xA3, 6], upTo: value.bytes.count + (bytes - value.bytes.count) / 2)
            value.repeats([0xA4, 6], upTo: bytes)
        case .alternatingFaults:
            value.field(3, Self.payload)
            let kinds = [[], random.bytes(7), random.bytes(32)]
            value.fields(upTo: bytes) { number in (5, Self.token(kinds[number % 3])) }
        case .emptyTokens:
            value.field(3, Self.payload)
            value.repeats([0x2A, 0], upTo: bytes)
        case .packedTokens, .coalescedTokens:
            value.field(3, Self.payload)
            if self == .coalescedTokens { value.field(9, Array("score".utf8)) }
            value.field(6, random.bytes((bytes - value.bytes.count - 8) / 32 * 32))
        case .countedBadges, .coalescedBadges:
            value.field(1, random.bytes(8).map { $0 & 0x3F | 0x40 })
            if self == .coalescedBadges { value.field(9, Array("score".utf8)) }
            value.field(13, Self.message { $0.field(2, Self.message { $0.number(2, 2) }) })
            value.field(6, random.bytes((bytes - value.bytes.count - 8) / 32 * 32))
        case .shortenedBadges:
            let body = String(repeating: "a long text ", count: bytes / 2 / 12)
            value.field(13, Self.notification(body: body))
            value.fields(upTo: bytes) { number in
                (5, Self.token(Self.minted(number, &random), badge: UInt64(number + 1)))
            }
        case .ownArguments:
            value.field(13, Self.message { $0.field(1, Self.message { $0.field(4, Array("KEY".utf8)) }) })
            value.fields(upTo: bytes) { number in
                (5, Self.token(Self.minted(number, &random), arguments: ["\(number)", "b", "c"]))
            }
        case .localizations:
            // Of two values each: as many as are allowed.
            let count = min(3000, bytes / 2 / 128)
            let body = [UInt8](repeating: 0x61, count: bytes / 2 / count - 28)
            value.field(
                13,
                Self.message { notification in
                    for number in 0..<count {
                        let alert = Self.message { $0.field(3, body) }
                        notification.field(
                            14,
                            Self.message {
                                $0.field(1, Array("en-x\(number)".utf8))
                                $0.field(2, alert)
                            }
                        )
                    }
                }
            )
            value.fields(upTo: bytes) { number in
                (5, Self.token(Self.minted(number, &random), locale: "en-x\(number % count)-a-b-c-d"))
            }
        case .graphemes:
            value.field(13, Self.notification(body: Self.character(bytes: bytes - 256)))
            value.field(6, random.bytes(64))
        case .longName:
            value.field(3, Self.payload)
            value.field(1, Array(Self.character(bytes: bytes - 256).utf8))
            value.field(6, random.bytes(64))
        case .headersAtLimit, .headersOverLimit:
            value.field(3, Self.payload)
            value.field(6, random.bytes(32))
            let room = self == .headersAtLimit ? RecordHeaders.limitBytes : bytes - 128
            headers.append((TraceContext.parent, Array(repeating: 0x61, count: room - TraceContext.parent.utf8.count)))
        case .manyHeaders:
            value.field(3, Self.payload)
            value.field(6, random.bytes(32))
            headers = Array(repeating: ("a", []), count: 8000)
        }
        return HostileRecord(key: Array(bundleID.utf8), value: value.bytes, headers: headers)
    }

    // MARK: Parts

    static let payload = Array(#"{"aps":{"alert":"Hi"}}"#.utf8)
    private static let json: (name: String, value: [UInt8]) = (
        RecordContentType.headerName, Array(RecordContentType.json.headerValue.utf8)
    )

    /// A token that no device has; each other than the one before.
    private static func minted(_ number: Int, _ random: inout SeededGenerator) -> [UInt8] {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + random.bytes(24)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// As many escaped characters as fit.
    private static func escapes(_ bytes: Int) -> String { String(repeating: #"\u00e9"#, count: bytes / 6) }

    /// One character as a reader counts them.
    private static func character(bytes: Int) -> String { "e" + String(repeating: "\u{0301}", count: (bytes - 1) / 2) }

    private static func message(_ fill: (inout ProtobufBytes) -> Void) -> [UInt8] {
        var message = ProtobufBytes()
        fill(&message)
        return message.bytes
    }

    /// A notification with a body that may be shortened.
    private static func notification(body: String) -> [UInt8] {
        message {
            $0.field(1, message { $0.field(3, Array(body.utf8)) })
            $0.number(15, 1)
        }
    }

    private static func token(
        _ bytes: [UInt8],
        badge: UInt64? = nil,
        locale: String = "",
        arguments: [String] = []
    ) -> [UInt8] {
        message { token in
            token.field(1, bytes)
            if let badge { token.number(3, badge) }
            if !locale.isEmpty { token.field(4, Array(locale.utf8)) }
            for argument in arguments { token.field(5, Array(argument.utf8)) }
        }
    }

    /// A structure with lists so deep.
    private static func nestedStruct(depth: Int) -> [UInt8] {
        var inner = message { $0.number(4, 1) }
        for _ in 0..<(depth / 2) {
            let list = message { $0.field(1, inner) }
            inner = message { $0.field(6, list) }
        }
        let entry = message {
            $0.field(1, [0x6E])
            $0.field(2, inner)
        }
        return message { $0.field(1, entry) }
    }
}

/// Protobuf's wire format, written field by field; also such as no library writes.
struct ProtobufBytes {
    var bytes: [UInt8] = []

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func number(_ field: Int, _ value: UInt64) {
        varint(UInt64(field << 3))
        varint(value)
    }

    mutating func field(_ field: Int, _ content: [UInt8]) {
        varint(UInt64(field << 3 | 2))
        varint(UInt64(content.count))
        bytes += content
    }

    /// Appends a piece as often as it fits.
    mutating func repeats(_ piece: [UInt8], upTo limit: Int) {
        while bytes.count + piece.count <= limit { bytes += piece }
    }

    /// Appends fields as long as they fit.
    mutating func fields(upTo limit: Int, _ make: (_ number: Int) -> (field: Int, content: [UInt8])) {
        var number = 0
        while true {
            let next = make(number)
            guard bytes.count + next.content.count + 8 <= limit else { return }
            field(next.field, next.content)
            number += 1
        }
    }
}
