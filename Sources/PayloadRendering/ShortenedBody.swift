/// The cutting of a text that makes its payload too long.
enum ShortenedBody {
    /// Stands for what was cut away; three bytes, none of them escaped.
    static let ellipsis = "…"

    /// The longest beginning of a text that fits with an ellipsis behind it, cut between two characters as a reader
    /// counts them.
    ///
    /// - Parameter bytes: room for both in the payload, escapes counted.
    /// - Returns: nil: not even the ellipsis fits.
    static func cut(_ text: String, toBytes bytes: Int) -> String? {
        var room = bytes - ellipsis.utf8.count
        guard room >= 0 else { return nil }
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            room -= JSONText.escapedBytes(of: text[end..<next])
            guard room >= 0 else { break }
            end = next
        }
        return String(text[..<end]) + ellipsis
    }
}
