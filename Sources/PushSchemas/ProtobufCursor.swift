/// Reads Protobuf's wire format in place: tags, varints and length-delimited fields, front to back.
///
/// Supports only the needs of `SendRequestView`, so that the hot path copies and allocates nothing. It accepts exactly
/// what SwiftProtobuf accepts (a test compares the two), and never reads outside `bytes`.
struct ProtobufCursor {
    /// The wire types of the encoding; the deprecated groups are only skipped.
    enum WireType: UInt8 {
        case varint = 0
        case fixed64 = 1
        case delimited = 2
        case startGroup = 3
        case endGroup = 4
        case fixed32 = 5
    }

    struct Tag {
        let field: UInt32
        let wireType: WireType
    }

    /// The deepest nesting of groups in a skipped field: the same limit as SwiftProtobuf's.
    private static let groupDepthLimit = 100

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    /// The bytes that were not read yet.
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[position...]) }

    /// The bytes are fields one after the other, whatever is in them.
    static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var cursor = ProtobufCursor(bytes)
        while !cursor.isAtEnd {
            guard let tag = cursor.readTag(), cursor.skip(tag) else { return false }
        }
        return true
    }

    /// The next field's number and wire type. Nil: malformed.
    mutating func readTag() -> Tag? {
        guard let key = readVarint(), let key = UInt32(exactly: key), key >> 3 != 0,
            let wireType = WireType(rawValue: UInt8(key & 7))
        else { return nil }
        return Tag(field: key >> 3, wireType: wireType)
    }

    /// A base-128 integer of at most ten bytes. Nil: cut off or too long.
    mutating func readVarint() -> UInt64? {
        guard position < bytes.count else { return nil }
        let first = bytes[position]
        if first < 0x80 {
            position &+= 1
            return UInt64(first)
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < bytes.count, shift < 70 {
            let byte = bytes[position]
            position &+= 1
            // The tenth byte has room for one bit; overflowing bits are dropped, as other readers do.
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift &+= 7
        }
        return nil
    }

    /// The bytes of a length-delimited field, in place. Nil: cut off.
    mutating func readDelimited() -> UnsafeRawBufferPointer? {
        guard let length = readVarint(), length <= UInt64(bytes.count &- position) else { return nil }
        let end = position &+ Int(length)
        defer { position = end }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<end])
    }

    /// Steps over the value of an unknown field. False: malformed.
    mutating func skip(_ tag: Tag) -> Bool {
        skip(tag, depth: 0)
    }

    private mutating func skip(_ tag: Tag, depth: Int) -> Bool {
        switch tag.wireType {
        case .varint: return readVarint() != nil
        case .fixed64: return advance(8)
        case .delimited: return readDelimited() != nil
        case .fixed32: return advance(4)
        case .endGroup: return false
        case .startGroup:
            guard depth < Self.groupDepthLimit else { return false }
            while let inner = readTag() {
                if inner.wireType == .endGroup { return inner.field == tag.field }
                guard skip(inner, depth: depth + 1) else { return false }
            }
            return false
        }
    }

    private mutating func advance(_ count: Int) -> Bool {
        guard bytes.count - position >= count else { return false }
        position += count
        return true
    }
}
