import APNsProtocol
import BelfrySupport
import PushSchemas

/// Device tokens in memory, packed.
struct TokenList: Equatable, Sendable {
    private var bytes: [UInt8] = []
    /// End of each token in `bytes`.
    private var ends: [Int] = []
    private var arePackable = true

    init() {}

    var count: Int { ends.count }
    var isEmpty: Bool { ends.isEmpty }

    /// The token at `index`, valid during the call of `body`.
    func withToken<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let start = index == 0 ? 0 : ends[index - 1]
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<ends[index]])) }
    }

    mutating func append(_ token: [UInt8]) {
        token.withUnsafeBytes { append($0) }
    }

    mutating func append(_ token: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: token)
        ends.append(bytes.count)
        if token.count != SendRequestView.packedTokenBytes { arePackable = false }
    }

    /// Keeps the memory for others.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        arePackable = true
    }

    /// All tokens end to end; nil: some have another length than packed tokens.
    var packed: [UInt8]? { arePackable ? bytes : nil }

    /// The tokens given one by one.
    init(_ texts: [String], lengths: ClosedRange<Int>) throws(ToolError) {
        for text in texts {
            do throws(TokenFault) {
                append(try Self.token(text, lengths: lengths))
            } catch {
                throw .invalidInput(["token \"\(text.prefix(24))\": \(error.message)"])
            }
        }
    }

    private struct TokenFault: Error {
        let message: String
    }

    private static func token(_ digits: String, lengths: ClosedRange<Int>) throws(TokenFault) -> [UInt8] {
        let token: [UInt8]
        do throws(HexError) {
            token = try Hex.decode(digits)
        } catch {
            throw TokenFault(message: "the token \(error)")
        }
        guard lengths.contains(token.count) else {
            throw TokenFault(message: RecordRefusal.tokenLength(token.count, allowed: lengths).detail)
        }
        return token
    }
}
