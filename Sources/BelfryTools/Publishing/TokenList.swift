import APNsProtocol
import BelfrySupport

/// Device tokens, packed: millions fit into memory, since all are checked before the first is published.
struct TokenList: Equatable, Sendable {
    /// Faulty lines that an error tells one by one.
    static let toldFaults = 10

    private var bytes: [UInt8] = []
    /// End of each token in `bytes`.
    private var ends: [Int] = []

    init() {}

    var count: Int { ends.count }
    var isEmpty: Bool { ends.isEmpty }

    /// The token at `index`, valid during the call of `body`.
    func withToken<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let start = index == 0 ? 0 : ends[index - 1]
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<ends[index]])) }
    }

    mutating func append(_ token: [UInt8]) {
        bytes += token
        ends.append(bytes.count)
    }

    /// Parses one hexadecimal token a line; blank lines and lines beginning with `#` are skipped.
    ///
    /// - Parameters:
    ///   - name: what messages call the text, a file name for instance.
    ///   - lengths: the lengths in bytes that the gateway takes.
    /// - Throws: `ToolError.invalidInput` with the number of each faulty line.
    init(lines text: String, name: String, lengths: ClosedRange<Int>) throws(ToolError) {
        var faults: [String] = []
        var faultCount = 0
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let digits = String(line).trimmed
            if digits.isEmpty || digits.hasPrefix("#") { continue }
            do throws(TokenFault) {
                append(try Self.token(digits, lengths: lengths))
            } catch {
                faultCount += 1
                if faultCount <= Self.toldFaults { faults.append("\(name):\(index + 1): \(error.message)") }
            }
        }
        if faultCount > Self.toldFaults { faults.append("… and \(faultCount - Self.toldFaults) more") }
        guard faults.isEmpty else { throw .invalidInput(faults) }
    }

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
            throw TokenFault(
                message: "the token has \(counted(token.count, "byte")); allowed: \(lengths.allowedText)"
            )
        }
        return token
    }
}
