/// What an app says of its device: language and time zone, as they stand at the end of a ``TokenRecord``.
///
/// A time zone of ``TimeZoneCodes`` takes two bytes, another its text.
struct TokenTexts: Equatable, Sendable {
    /// Longest text kept, bytes; what is longer is cut.
    static let limitBytes = 64

    /// BCP 47 tag; empty: not known.
    var locale = ""
    /// IANA name; empty: not known.
    var timeZone = ""

    /// The flags of the record that say which texts follow.
    var flags: UInt8 {
        var flags: UInt8 = 0
        if !locale.isEmpty { flags |= TokenRecord.Flag.locale }
        if !timeZone.isEmpty {
            flags |= TimeZoneCodes.code(of: timeZone) == nil ? TokenRecord.Flag.zoneText : TokenRecord.Flag.zoneCode
        }
        return flags
    }

    /// The bytes of the record.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        if !locale.isEmpty { Self.append(locale, to: &bytes) }
        if let code = TimeZoneCodes.code(of: timeZone) {
            bytes += [UInt8(truncatingIfNeeded: code), UInt8(code >> 8)]
        } else if !timeZone.isEmpty {
            Self.append(timeZone, to: &bytes)
        }
        return bytes
    }

    init(locale: String = "", timeZone: String = "") {
        self.locale = locale
        self.timeZone = timeZone
    }

    /// Reads the end of a record; nil if it is not of this form.
    init?(flags: UInt8, _ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        if flags & TokenRecord.Flag.locale != 0 {
            guard let text = Self.takeText(&rest) else { return nil }
            locale = text
        }
        if flags & TokenRecord.Flag.zoneCode != 0 {
            guard rest.count >= 2, let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
            // A code of a newer version: the zone is not known here.
            timeZone = TimeZoneCodes.name(of: UInt16(low) | UInt16(high) << 8) ?? ""
        } else if flags & TokenRecord.Flag.zoneText != 0 {
            guard let text = Self.takeText(&rest) else { return nil }
            timeZone = text
        }
        guard rest.isEmpty else { return nil }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let text = text.utf8.prefix(limitBytes)
        bytes.append(UInt8(text.count))
        bytes += text
    }

    private static func takeText(_ rest: inout Slice<UnsafeRawBufferPointer>) -> String? {
        guard let count = rest.popFirst(), rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
    }
}
