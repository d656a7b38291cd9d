/// A publisher's name as it may stand in a message: short and harmless, else an ellipsis.
package func printable(_ name: String) -> String {
    let isHarmless = name.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "'") }
    return isHarmless && (1...64).contains(name.utf8.count) ? name : "…"
}

extension String {
    /// The text, or its beginning with an ellipsis behind it, cut between two characters.
    ///
    /// - Parameter limit: most bytes of the result in UTF-8, at least those of the ellipsis.
    package func shortened(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let room = limit - Self.ellipsis.utf8.count
        var kept = 0
        for character in beginning(holding: room) {
            guard kept + character.utf8.count <= room else { break }
            kept += character.utf8.count
        }
        // A character may be as long as the text: one letter with marks without end.
        let isEndless = room - kept > Self.longestCharacterBytes
        return scalars(inBytes: isEndless ? room : kept) + Self.ellipsis
    }

    /// The beginning in which all characters are found that end within its first bytes, and one scalar more at least,
    /// unless the text ends there. To look for them in the text itself costs as much as the longest of them.
    package func beginning(holding bytes: Int) -> String {
        scalars(inBytes: bytes + Self.longestScalarBytes)
    }

    private func scalars(inBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while Index(end, within: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(unicodeScalars[..<end])
    }

    private static let ellipsis = "…"
    /// A longer one is cut between its scalars.
    private static let longestCharacterBytes = 64
    private static let longestScalarBytes = 4
}
