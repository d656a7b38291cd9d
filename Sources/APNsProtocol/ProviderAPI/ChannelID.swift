/// The rule for `apns-channel-id`: base64 with padding, in the one spelling that its bytes have (RFC 4648 §4) [later].
///
/// The service makes the ids; their length is not to be relied on [later].
public enum ChannelID {
    /// The longest id, in characters: as much as the sender keeps of a token [ours].
    public static let limitBytes = ProviderPath.tokenLimitBytes

    /// The text can be an id. One with two spellings would be two channels where their order is kept.
    public static func isValid(_ text: UnsafeRawBufferPointer) -> Bool {
        guard (4...limitBytes).contains(text.count), text.count.isMultiple(of: 4) else { return false }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var last: UInt8 = 0
        for byte in text.dropLast(padding) {
            guard let value = value(of: byte) else { return false }
            last = value
        }
        // Bits behind the last byte are 0.
        return last & [0, 0b11, 0b1111][padding] == 0
    }

    /// The text can be an id: for the cold path.
    public static func isValid(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes(isValid)
    }

    /// The id of 128 bits, as a service makes it.
    public static func text(high: UInt64, low: UInt64) -> String {
        let bytes = [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            let bits = (0..<3).reduce(UInt32(0)) { $0 << 8 | ($1 < count ? UInt32(bytes[start + $1]) : 0) }
            for index in 0...3 {
                text.append(index <= count ? alphabet[Int(bits >> (18 - 6 * UInt32(index)) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
