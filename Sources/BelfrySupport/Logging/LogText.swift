/// Texts of log lines, cut to what they may take.
enum LogText {
    /// The text, or its beginning of at most `limitBytes` with the number of bytes left out behind it.
    static func limited(_ text: String, to limitBytes: Int) -> String {
        let bytes = text.utf8
        guard bytes.count > limitBytes else { return text }
        var end = bytes.index(bytes.startIndex, offsetBy: limitBytes)
        // Not in the middle of a character's bytes.
        while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { end = bytes.index(before: end) }
        let leftOut = bytes.distance(from: end, to: bytes.endIndex)
        return "\(String(decoding: bytes[..<end], as: UTF8.self))… (\(counted(leftOut, "byte")) left out)"
    }
}

/// Room for the texts of one line.
struct LogRoom {
    private var left: Int
    private let textBytes: Int

    init(lineBytes: Int = LogLimits.lineBytes, textBytes: Int = LogLimits.textBytes) {
        left = lineBytes
        self.textBytes = textBytes
    }

    /// The text as far as it fits. The notes of what was left out are not counted.
    mutating func fit(_ text: String) -> String {
        let limit = min(textBytes, left)
        left -= min(limit, text.utf8.count)
        return LogText.limited(text, to: limit)
    }
}
