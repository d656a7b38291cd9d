/// Values that a request has for one token alone, in place of the notification's.
public struct TokenOverrides: Hashable, Sendable {
    /// Numbers of the fields in `DeviceToken`.
    enum Field {
        static let badge: UInt32 = 3
        static let locale: UInt32 = 4
        static let locArgs: UInt32 = 5
    }

    /// The number on the icon; nil: the notification's.
    public var badge: UInt32?
    /// BCP 47 tag; empty: the registered one.
    public var locale = ""
    /// Arguments of the alert's `loc_key`; empty: the alert's.
    public var locArgs: [String] = []

    public init() {}

    /// Reads a `DeviceToken`; nil: it is malformed.
    init?(message: UnsafeRawBufferPointer) {
        var cursor = ProtobufCursor(message)
        while !cursor.isAtEnd {
            guard let tag = cursor.readTag() else { return nil }
            switch (tag.field, tag.wireType) {
            case (Field.badge, .varint):
                guard let number = cursor.readVarint() else { return nil }
                badge = UInt32(truncatingIfNeeded: number)
            case (Field.locale, .delimited):
                guard let text = cursor.readDelimited() else { return nil }
                locale = String(decoding: text, as: UTF8.self)
            case (Field.locArgs, .delimited):
                guard let text = cursor.readDelimited() else { return nil }
                locArgs.append(String(decoding: text, as: UTF8.self))
            default:
                guard cursor.skip(tag) else { return nil }
            }
        }
    }
}
