import BelfryProducer
import BelfrySupport

/// Tokens that were read once, and are gone through again when they are published.
enum CheckedTokens {
    case list(PackedTokens)
    case file(TokenFile)

    /// - Parameter progress: see ``TokenFile/check(_:)``.
    /// - Throws: `ToolError.invalidInput` for what cannot be read. Of a file, what is no token is among the faults.
    init(
        _ input: TokenInput,
        lengths: ClosedRange<Int>,
        _ progress: TokenFile.Progress = { _, _ in }
    ) throws(ToolError) {
        guard case .file(let path, let format) = input else {
            self = .list(try input.tokens(lengths: lengths))
            return
        }
        let file = try TokenFile(path: path, format, lengths: lengths)
        try file.check(progress)
        self = .file(file)
    }

    /// The mistakes in them, for people.
    var faults: [String] {
        switch self {
        case .list: []
        case .file(let file) where file.faults.isEmpty && file.place.tokens == 0: TokenInput.nothing
        case .file(let file): file.faults.lines
        }
    }

    /// Throws `ToolError.invalidInput` for what is no token, and if there is none.
    func requireGood() throws(ToolError) {
        let faults = faults
        guard faults.isEmpty else { throw .invalidInput(faults) }
    }

    var count: Int {
        switch self {
        case .list(let list): list.count
        case .file(let file): file.place.tokens
        }
    }

    /// Goes through the tokens in their order; the parameters are those of ``TokenFile``.
    func forEachToken(
        from begin: TokenFilePlace = TokenFilePlace(),
        pieceBytes: Int = TokenFile.pieceBytes,
        onPiece: (TokenFilePlace) throws -> Void = { _ in },
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        switch self {
        case .list(let list):
            for index in 0..<list.count { try list.withToken(at: index, take) }
        case .file(let file):
            try file.forEachToken(from: begin, pieceBytes: pieceBytes, onPiece: onPiece, take)
        }
    }
}
