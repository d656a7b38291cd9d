import TLSTransport

/// The token that opens `/metrics` and `/status` (RFC 6750).
struct BearerToken: Sendable {
    /// Letters of a token. With fewer it could be guessed; with more it would not fit beside the rest of a head.
    static let lengths = 16...1024
    static let rule =
        "\(lengths.lowerBound) to \(lengths.upperBound) letters, digits and -._~+/ on one line, then any number of ="

    private let bytes: [UInt8]

    /// - Parameter content: of the file: the token, and a line end behind it or none.
    /// - Throws: ``UnusableContent``.
    init(content: [UInt8]) throws(UnusableContent) {
        var token = content[...]
        if token.last == UInt8(ascii: "\n") { token.removeLast() }
        if token.last == UInt8(ascii: "\r") { token.removeLast() }
        guard !token.isEmpty else { throw UnusableContent(reason: "is empty; allowed: \(Self.rule)") }
        let letters = token.prefix { Self.isLetter($0) }
        guard !letters.isEmpty, token[letters.endIndex...].allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            throw UnusableContent(reason: "holds something else than a token; allowed: \(Self.rule)")
        }
        guard Self.lengths.contains(token.count) else {
            throw UnusableContent(reason: "its token has \(token.count) letters; allowed: \(Self.rule)")
        }
        bytes = Array(token)
    }

    /// Tells whether a request's field `Authorization` shows the token.
    ///
    /// - Parameter authorization: nil: the request has none.
    func isShown(by authorization: String?) -> Bool {
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        let shown = authorization[space...].drop { $0 == " " }
        return ConstantTime.areEqual(Array(shown.utf8), bytes)
    }

    /// A character of the rule b64token, but for the padding.
    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
