/// An app's description of its device: language and time zone. They stand in a ``TokenRecord``.
///
/// A time zone of ``TimeZoneCodes`` takes two bytes; any other, its text.
package struct TokenTexts: Equatable, Sendable {
    /// Longest locale kept, bytes: enough for any tag in use by RFC 5646, 4.4.1. A longer one is cut.
    static let localeLimitBytes = 35
    /// Longest text kept of a time zone without a code, beside the longest locale, bytes. A longer one is dropped: a
    /// part of a name is no name.
    ///
    /// So the fullest record has 64 bytes, the most that a server with default settings keeps in the compact form.
    static let zoneLimitBytes = 9

    /// BCP 47 tag; empty: not known.
    private(set) var locale = ""
    /// IANA name; empty: not known.
    private(set) var timeZone = ""

    /// The flags of the record for the texts that follow.
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

    package init(locale: String = "", timeZone: String = "") {
        self.locale = Self.cut(locale)
        // The zone may use the room that the locale leaves.
        let room = Self.zoneLimitBytes + Self.localeLimitBytes - self.locale.utf8.count
        if timeZone.utf8.count <= room || TimeZoneCodes.code(of: timeZone) != nil { self.timeZone = timeZone }
    }

    /// Cuts between two Unicode scalars, to which indices are rounded.
    private static func cut(_ locale: String) -> String {
        guard locale.utf8.count > localeLimitBytes else { return locale }
        return String(locale[..<locale.utf8.index(locale.startIndex, offsetBy: localeLimitBytes)])
    }

    /// The texts that did not fit, for a person to read.
    package static func faults(locale: String, timeZone: String) -> [String] {
        let kept = TokenTexts(locale: locale, timeZone: timeZone)
        var faults: [String] = []
        if kept.locale != locale {
            faults.append("the locale has \(locale.utf8.count) bytes; allowed: \(localeLimitBytes)")
        }
        if kept.timeZone != timeZone {
            faults.append("the time zone has \(timeZone.utf8.count) bytes; allowed: an IANA name, or \(zoneLimitBytes)")
        }
        return faults
    }

    /// Takes them from what is left of a record; nil if it is not of this form.
    init?(flags: UInt8, _ rest: inout Slice<UnsafeRawBufferPointer>) {
        if flags & TokenRecord.Flag.locale != 0 {
            guard let text = Self.takeText(&rest) else { return nil }
            locale = text
        }
        if flags & TokenRecord.Flag.zoneCode != 0 {
            guard rest.count >= 2, let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
            // A code of a newer version: the zone is unknown here.
            timeZone = TimeZoneCodes.name(of: UInt16(low) | UInt16(high) << 8) ?? ""
        } else if flags & TokenRecord.Flag.zoneText != 0 {
            guard let text = Self.takeText(&rest) else { return nil }
            timeZone = text
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(text.utf8.count))
        bytes += text.utf8
    }

    private static func takeText(_ rest: inout Slice<UnsafeRawBufferPointer>) -> String? {
        guard let count = rest.popFirst(), rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
    }
}
