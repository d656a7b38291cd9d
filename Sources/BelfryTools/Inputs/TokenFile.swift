import BelfryProducer
import BelfrySupport
import Glibc

/// A file of tokens of any size, or standard input: checked as a whole, then gone through again, in bounded memory.
///
/// A regular file is read twice. Of what can be read only once, the tokens stand in a temporary file without a name
/// meanwhile.
final class TokenFile {
    /// Called from time to time with the number of bytes that were read, and of all; nil: not known.
    typealias Progress = (_ bytes: Int64, _ size: Int64?) -> Void

    /// The name in messages.
    let name: String
    /// Regular file; nil: something that can be read only once.
    let identity: Identity?
    /// Of all tokens, once they are checked.
    private(set) var place = TokenFilePlace()
    private(set) var faults = TokenFileFaults()

    /// A regular file's size and time of change.
    struct Identity: Codable, Equatable, Sendable {
        var size: Int64
        /// Nanoseconds since 1970.
        var modifiedAt: Int64
    }

    private let isStandardInput: Bool
    private let input: FileDescriptor
    private let form: TokenScanner.Form
    private let lengths: ClosedRange<Int>
    /// The tokens of what can be read only once.
    private var spool: TokenSpool?

    static let pieceBytes = 1 << 18

    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - lengths: the lengths in bytes that the gateway takes.
    /// - Throws: `ToolError.invalidInput` for what cannot be read.
    init(path: String, _ format: TokenFormat, lengths: ClosedRange<Int>) throws(ToolError) {
        isStandardInput = path == "-"
        name = isStandardInput ? "standard input" : path
        input = isStandardInput ? FileDescriptor(STDIN_FILENO, name) : try FileDescriptor(reading: path)
        form = .format(format)
        self.lengths = lengths
        identity = isStandardInput ? nil : input.identity
    }

    /// Reads everything, notes what is no token, and keeps what cannot be read again.
    ///
    /// - Throws: `ToolError.invalidInput` for what cannot be read; `.notFound` if there is no room to keep it.
    func check(_ progress: Progress = { _, _ in }) throws(ToolError) {
        do {
            try readAll(progress)
        } catch {
            throw error as? ToolError ?? .notFound("\(name): \(error)")
        }
    }

    private func readAll(_ progress: Progress) throws {
        var scanner = TokenScanner(form, name: name, lengths: lengths)
        var spool: TokenSpool?
        if identity == nil { spool = try TokenSpool() }
        func keep(_ token: UnsafeRawBufferPointer) throws { try spool?.append(token) }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        var read: Int64 = 0
        let notice = isStandardInput ? InputText.beginReadingStandardInput(form.content) : nil
        defer { notice?.end() }
        while true {
            let count = identity == nil ? try input.read(into: &piece) : try input.read(into: &piece, at: read)
            guard count > 0 else { break }
            notice?.end()
            read += Int64(count)
            try piece.withUnsafeBytes { try scanner.scan(UnsafeRawBufferPointer(rebasing: $0[..<count]), keep) }
            progress(read, identity?.size)
        }
        try scanner.finish(keep)
        try spool?.end()
        self.spool = spool
        place = scanner.place
        faults = scanner.faults
    }

    /// All tokens in memory, checked.
    func list() throws(ToolError) -> PackedTokens {
        var list = PackedTokens()
        try check()
        guard faults.isEmpty else { throw .invalidInput(faults.lines) }
        do {
            try forEachToken { list.append($0) }
        } catch {
            throw error as? ToolError ?? .notFound("\(name): \(error)")
        }
        return list
    }

    /// Goes through the tokens that were found, in their order.
    ///
    /// - Parameters:
    ///   - begin: of a regular file, the place to begin at.
    ///   - pieceBytes: read at once.
    ///   - onPiece: called behind each piece with the place behind all tokens that were taken.
    ///   - take: gets each token, valid during the call.
    /// - Throws: `ToolError.refused` if the file has changed since it was checked.
    func forEachToken(
        from begin: TokenFilePlace = TokenFilePlace(),
        pieceBytes: Int = TokenFile.pieceBytes,
        onPiece: (TokenFilePlace) throws -> Void = { _ in },
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let source = spool?.file ?? input
        let form = spool == nil ? form : .prefixed
        var scanner = TokenScanner(form, name: name, lengths: lengths, from: begin)
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        var offset = begin.offset
        while true {
            let count = try source.read(into: &piece, at: offset)
            guard count > 0 else { break }
            offset += Int64(count)
            try piece.withUnsafeBytes { try scanner.scan(UnsafeRawBufferPointer(rebasing: $0[..<count]), take) }
            try onPiece(scanner.place)
        }
        try scanner.finish(take)
        guard scanner.place.tokens == place.tokens, spool != nil || source.identity == identity else {
            throw ToolError.refused("\(name): has changed while it was read")
        }
    }
}
