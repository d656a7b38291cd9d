import BelfrySupport

/// Tokens that were checked, and are gone through once more when they are published.
enum CheckedTokens {
    case list(TokenList)
    case file(TokenFile)

    /// - Parameter progress: see ``TokenFile/check(_:)``.
    /// - Throws: `ToolError.invalidInput` for what is no token, and if there is none.
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
        guard file.faults.isEmpty else { throw .invalidInput(file.faults.lines) }
        guard file.place.tokens > 0 else { throw .invalidInput(["no token was given"]) }
        self = .file(file)
    }

    var count: Int {
        switch self {
        case .list(let list): list.count
        case .file(let file): file.place.tokens
        }
    }

    /// Goes through the tokens in their order; the parameters are those of ``TokenFile``.
    func forEachToken(
        from begin: TokenPlace = TokenPlace(),
        pieceBytes: Int = TokenFile.pieceBytes,
        onPiece: (TokenPlace) throws -> Void = { _ in },
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
