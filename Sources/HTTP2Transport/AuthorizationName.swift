/// Lets `authorization` into the table that compresses fields, which nghttp2 refuses: it knows the name.
///
/// A provider token is sent with every request, and takes some 200 bytes whenever it is not in the table. So nghttp2
/// gets the name with a capital at its end, which it does not know, and the one byte in which both names differ is set
/// right in each frame that spells the name: the one that puts the field into the peer's table, or all if that is too
/// small. Both names are equally long, also in Huffman code: so both tables stay equal in size and order. Frames that
/// find the field in the table have only its position.
///
/// The place is found by reading the block field by field, never by searching in it: values are the publishers', and a
/// bundle ID can spell the name.
enum AuthorizationName {
    static let plain = "authorization"
    static let disguisedEnd = UInt8(ascii: "N")
    static let plainEnd = UInt8(ascii: "n")

    /// A name of nine bytes in Huffman code (0x89): `authorizatioN` (RFC 7541 §5.2).
    private static let disguised: [UInt8] = [0x89, 0x1D, 0xA9, 0x9C, 0xF6, 0x1B, 0xD8, 0xD2, 0x63, 0xE9]
    /// The last byte of the same with `n`: one bit less, and one of padding.
    static let lastByte: UInt8 = 0xD5

    /// The position of the byte to replace, in a HEADERS frame without padding and priority; `nil` if the frame does
    /// not spell the name.
    ///
    /// - Parameter valueBytes: length of the field's value. A frame that is too short for it is not read.
    static func position(in frame: UnsafeRawBufferPointer, valueBytes: Int) -> Int? {
        // Five bits are the shortest code of a character.
        let shortest = FrameScanner.headerBytes + 1 + Self.disguised.count + valueBytes * 5 / 8
        guard frame.count >= shortest else { return nil }
        var block = FieldBlockReader(frame, from: FrameScanner.headerBytes)
        while let name = block.nextNewName() {
            if frame[name].elementsEqual(Self.disguised) { return name.upperBound - 1 }
        }
        return nil
    }
}

/// Reads a block of fields as far as to tell where each begins (RFC 7541 §6).
struct FieldBlockReader {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init(_ bytes: UnsafeRawBufferPointer, from start: Int) {
        self.bytes = bytes
        position = start
    }

    /// Goes on behind the next field that spells its name.
    ///
    /// - Returns: the name with its length, as encoded; nil: no such field follows, or the block ends in one.
    mutating func nextNewName() -> Range<Int>? {
        while position < bytes.count {
            let first = bytes[position]
            // An indexed field, or a new size of the table, is one number.
            if first & 0x80 != 0 || first & 0xE0 == 0x20 {
                guard number(prefixBits: first & 0x80 != 0 ? 7 : 5) != nil else { return nil }
                continue
            }
            // One that goes into the table has six bits for its name's place there, others have four.
            guard let index = number(prefixBits: first & 0x40 != 0 ? 6 : 4) else { return nil }
            let start = position
            if index == 0, !skipString() { return nil }
            let name = start..<position
            guard skipString() else { return nil }
            if index == 0 { return name }
        }
        return nil
    }

    /// Passes over a length and as many bytes; false: the block ends before.
    private mutating func skipString() -> Bool {
        guard position < bytes.count, let length = number(prefixBits: 7), length <= bytes.count - position else {
            return false
        }
        position += length
        return true
    }

    /// Reads an integer (RFC 7541 §5.1); nil: the block ends in it, or it is larger than any length here.
    private mutating func number(prefixBits: Int) -> Int? {
        let most = 1 << prefixBits - 1
        var value = Int(bytes[position]) & most
        position += 1
        guard value == most else { return value }
        for shift in [0, 7, 14, 21] {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            value += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
