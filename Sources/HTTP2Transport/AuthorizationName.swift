/// Lets `authorization` into the table that compresses fields, which nghttp2 refuses: it knows the name.
///
/// A provider token is sent with every request, and takes some 200 bytes whenever it is not in the table. So nghttp2
/// gets the name with a capital at its end, which it does not know, and the one byte in which both names differ is set
/// right in each frame that spells the name: the one that puts the field into the peer's table, or all if that is too
/// small. Both names are equally long, also in Huffman code: so both tables stay equal in size and order. Frames that
/// find the field in the table have only its position.
enum AuthorizationName {
    static let plain = "authorization"
    static let disguisedEnd = UInt8(ascii: "N")
    static let plainEnd = UInt8(ascii: "n")

    /// A name of nine bytes in Huffman code (0x89): `authorizatioN` (RFC 7541 §5.2).
    private static let disguised: [UInt8] = [0x89, 0x1D, 0xA9, 0x9C, 0xF6, 0x1B, 0xD8, 0xD2, 0x63, 0xE9]
    /// The byte before: a new name, whose field goes into the table, or does not (RFC 7541 §6.2.1, §6.2.2).
    private static let before: [UInt8] = [0x40, 0x00]
    /// The last byte of the same with `n`: one bit less, and one of padding.
    static let lastByte: UInt8 = 0xD5

    /// The position of the byte to replace, in a HEADERS frame; `nil` if the frame does not spell the name.
    ///
    /// - Parameter valueBytes: length of the field's value. A frame that is too short for it needs no search.
    static func position(in frame: UnsafeRawBufferPointer, valueBytes: Int) -> Int? {
        // Five bits are the shortest code of a character.
        let shortest = FrameScanner.headerBytes + 1 + Self.disguised.count + valueBytes * 5 / 8
        guard frame.count >= shortest else { return nil }
        let last = frame.count - Self.disguised.count
        for start in (FrameScanner.headerBytes + 1)...last where frame[start] == Self.disguised[0] {
            if Self.before.contains(frame[start - 1]), frame[start...].starts(with: Self.disguised) {
                return start + Self.disguised.count - 1
            }
        }
        return nil
    }
}
