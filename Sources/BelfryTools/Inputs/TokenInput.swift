import BelfryProducer
import BelfrySupport

/// Source of a tool's tokens.
public enum TokenInput: Equatable, Sendable {
    /// Hexadecimal texts, given one by one.
    case listed([String])
    /// A file of any size; `-` is standard input.
    case file(String, TokenFormat)

    /// The fault of having none.
    static let nothing = ["no token was given"]

    /// All tokens in memory.
    func tokens(lengths: ClosedRange<Int>) throws(ToolError) -> PackedTokens {
        let tokens =
            switch self {
            case .listed(let texts): try PackedTokens(texts, lengths: lengths)
            case .file(let path, let format): try TokenFile(path: path, format, lengths: lengths).list()
            }
        guard !tokens.isEmpty else { throw .invalidInput(Self.nothing) }
        return tokens
    }
}
