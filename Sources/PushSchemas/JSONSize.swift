/// The values of a JSON text, counted before it is decoded.
///
/// A decoder allocates for a value of two bytes, so the length of a text does not bound its cost. Counting reads each
/// byte once and allocates nothing.
struct JSONSize: Equatable {
    /// The most values. A record of 1 MiB has sixteen bytes for each. [ours]
    static let limit = 65_536

    /// Commas and opening brackets outside of strings: about the members and elements of all objects and lists.
    private(set) var values = 0
    /// The part of `values` in the outermost object's member `notification`.
    private(set) var notificationValues = 0
    /// Tokens of a request are plain strings, which no decoder of messages takes.
    private(set) var hasPlainTokens = false

    /// - Parameter text: a text that is no JSON is counted all the same.
    init(of text: UnsafeRawBufferPointer) {
        var position = 0
        var depth = 0
        var isInNotification = false
        var isInTokens = false
        /// The last string of the outermost object, with its quotes.
        var name = 0..<0
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                let start = position
                position = Self.end(ofString: start, in: text)
                if depth == 1 { name = start..<position }
                if depth == 2, isInTokens { hasPlainTokens = true }
                continue
            case UInt8(ascii: ":"):
                guard depth == 1 else { break }
                isInNotification = text[name].elementsEqual(Self.notification)
                isInTokens = text[name].elementsEqual(Self.tokens)
            case UInt8(ascii: ","), UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 1, byte == UInt8(ascii: ",") { (isInNotification, isInTokens) = (false, false) }
                if byte != UInt8(ascii: ",") { depth += 1 }
                values += 1
                if isInNotification { notificationValues += 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
            default: break
            }
            position += 1
        }
    }

    /// The place behind the string that begins at an offset.
    private static func end(ofString start: Int, in text: UnsafeRawBufferPointer) -> Int {
        var position = start + 1
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, text.count)
    }

    private static let tokens = Array("\"tokens\"".utf8)
    private static let notification = Array("\"notification\"".utf8)
}
