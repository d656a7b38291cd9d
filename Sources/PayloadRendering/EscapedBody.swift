import PushSchemas

/// The body of an alert, escaped, with the places where it may be cut.
///
/// Escaping and looking for the places are done once for a notification. A cut is then a search among a few thousand
/// places, though tens of thousands of payloads may each need one of its own.
struct EscapedBody: Sendable {
    /// Stands for what was cut away; three bytes, none of them escaped.
    static let ellipsis: StaticString = "…"
    /// The part of a body that is looked at for places to cut. No payload has room for more, see `PayloadLimit`.
    static let cutBytes = 8192

    let bytes: [UInt8]
    /// Offsets in ``bytes`` between two characters as a reader counts them, ascending, without 0.
    private let cuts: [UInt16]
    /// Characters looked at, for tests.
    var charactersRead: Int { cuts.count }

    /// - Parameter isCut: it may have to be cut.
    init(_ text: String, isCut: Bool) {
        var escaped = JSONText(bytes: text.utf8.count)
        escaped.append(contentOf: text)
        bytes = escaped.bytes
        cuts = isCut ? Self.cuts(in: text) : []
    }

    private static func cuts(in text: String) -> [UInt16] {
        var text = text
        if let cuts = text.withUTF8({ cutsInASCII($0) }) { return cuts }
        var cuts: [UInt16] = []
        var offset = 0
        for character in text.beginning(holding: cutBytes) {
            offset += JSONText.escapedBytes(of: character.utf8)
            guard offset <= cutBytes else { break }
            cuts.append(UInt16(offset))
        }
        return cuts
    }

    /// The same without a look at Unicode's tables; nil: the text has other characters than ASCII's.
    private static func cutsInASCII(_ text: UnsafeBufferPointer<UInt8>) -> [UInt16]? {
        // One byte more: a mark behind the part that is looked at would belong to its last character.
        guard text.prefix(cutBytes + 1).allSatisfy({ $0 < 0x80 }) else { return nil }
        var cuts: [UInt16] = []
        var offset = 0
        for (index, byte) in text.prefix(cutBytes).enumerated() {
            offset += JSONText.escapedBytes(of: CollectionOfOne(byte))
            guard offset <= cutBytes else { break }
            // The two of a line end are one character.
            let isSplit = byte == UInt8(ascii: "\r") && index + 1 < text.count && text[index + 1] == UInt8(ascii: "\n")
            if !isSplit { cuts.append(UInt16(offset)) }
        }
        return cuts
    }

    /// The longest beginning that fits with an ellipsis behind it.
    ///
    /// - Parameter bytes: room for both, escapes counted.
    /// - Returns: nil: not even the ellipsis fits.
    func beginning(bytes room: Int) -> ArraySlice<UInt8>? {
        let room = room - Self.ellipsis.utf8CodeUnitCount
        guard room >= 0 else { return nil }
        var low = 0
        var high = cuts.count
        while low < high {
            let middle = (low + high) / 2
            if Int(cuts[middle]) <= room { low = middle + 1 } else { high = middle }
        }
        return bytes[..<(low == 0 ? 0 : Int(cuts[low - 1]))]
    }
}
