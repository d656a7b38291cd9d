import RedisClient
import TestSupport

/// An owned copy of a reply, and its encoding: what the parser must give back.
enum ReplyValue: Equatable, Sendable {
    case status(String)
    case string([UInt8])
    case integer(Int64)
    case array([ReplyValue])
    case null
    case error(String)

    init(_ reply: RedisReply) {
        switch reply.kind {
        case .status: self = .status(reply.string ?? "")
        case .string: self = .string(Array(reply.bytes))
        case .integer: self = .integer(reply.integer ?? 0)
        case .array: self = .array((0..<reply.count).map { ReplyValue(reply[$0]) })
        case .null: self = .null
        case .error: self = .error(reply.string ?? "")
        }
    }

    static func text(_ text: String) -> ReplyValue { .string(Array(text.utf8)) }

    /// RESP2, as a server would send it.
    var encoded: [UInt8] {
        switch self {
        case .status(let text): Array("+\(text)\r\n".utf8)
        case .string(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .array(let elements): Array("*\(elements.count)\r\n".utf8) + elements.flatMap(\.encoded)
        case .null: Array("$-1\r\n".utf8)
        case .error(let text): Array("-\(text)\r\n".utf8)
        }
    }

    static func random(depth: Int = 0, using random: inout SeededGenerator) -> ReplyValue {
        switch Int.random(in: 0...(depth < 6 ? 6 : 4), using: &random) {
        case 0: .status("OK \(Int.random(in: 0...99, using: &random))")
        case 1: .string(random.bytes(upTo: 200))
        case 2: .integer(Int64.random(in: .min + 1 ... .max, using: &random))
        case 3: .null
        case 4: .error("ERR \(Int.random(in: 0...99, using: &random))")
        default:
            .array((0..<Int.random(in: 0...6, using: &random)).map { _ in .random(depth: depth + 1, using: &random) })
        }
    }
}
