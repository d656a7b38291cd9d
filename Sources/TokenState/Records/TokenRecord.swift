import APNsProtocol

/// The record of one token in one environment. It is the value of the token's field in its bucket (``TokenKeys``).
///
/// Layout, version 2, little-endian: flags (1) · registered at (4, UNIX seconds, 0 = never), then the parts that the
/// flags announce, in this order: described at (4, UNIX seconds, later than registered at) · tombstoned at (4, UNIX
/// seconds, later than registered at) and reason (1) · badge (4) · locale length (1) and locale · time zone as code (2)
/// or as length (1) and text. What is left are the kinds of topics for which the token was refused, each with its time
/// (1 + 4, later than registered at): no flag announces them, so that earlier versions, to whom they are a part of the
/// texts, leave them alone. Written by ``TokenScripts`` alone, so that every change is atomic on the server.
package struct TokenRecord: Equatable, Sendable {
    /// Bits of the first byte.
    enum Flag {
        static let tombstone: UInt8 = 1
        static let badge: UInt8 = 2
        static let locale: UInt8 = 4
        static let zoneCode: UInt8 = 8
        static let zoneText: UInt8 = 16
        static let described: UInt8 = 32
        /// The bits that no version so far sets.
        static let unknown: UInt8 = 0xC0
    }

    /// The reason for a tombstone.
    package enum Reason: UInt8, Sendable, CaseIterable {
        case none = 0
        /// The feedback service listed it.
        case feedback = 1
        /// The gateway called it invalid, for topics of every kind.
        case invalid = 2
        /// The app unregistered it.
        case unregistered = 3

        package var name: String {
            switch self {
            case .none: "none"
            case .feedback: "feedback"
            case .invalid: "invalid-token"
            case .unregistered: "unregistered"
            }
        }
    }

    /// Bytes of the fixed part of every record.
    static let fixedBytes = 5
    /// Most bytes of a record: a server with default settings keeps no longer ones in the compact form.
    static let limitBytes = 64

    var reason = Reason.none
    /// UNIX seconds; 0: never.
    package var registeredAt: UInt32 = 0
    /// UNIX seconds of the device's description, if later than ``registeredAt``; else 0.
    package var describedAt: UInt32 = 0
    /// UNIX seconds; 0: no tombstone.
    package var tombstonedAt: UInt32 = 0
    /// The number last sent; nil: none was sent.
    var badge: UInt32?
    var texts = TokenTexts()
    /// Each kind once; those of later versions too.
    var refused: [RefusedKind] = []

    init() {}

    /// A dead token stays silent until it registers again, for topics of every kind.
    var isDead: Bool { tombstonedAt > registeredAt }

    /// UNIX seconds of the latest word that the token is dead, for topics of any kind; 0: there is none.
    package var latestDeath: UInt32 { refused.latestDeath(besides: tombstonedAt) }

    /// The reason of death for topics of a kind in a record's bytes, without reading the rest. Nil if the token lives
    /// or the value is not of this layout (a needless send is better than a wrong silence).
    package static func reasonOfDeath(_ value: UnsafeRawBufferPointer, for kind: TopicKind) -> Reason? {
        guard value.count >= fixedBytes, value[0] & Flag.unknown == 0 else { return nil }
        let registeredAt = seconds(value, at: 1)
        if value[0] & Flag.tombstone != 0 {
            let place = fixedBytes + (value[0] & Flag.described != 0 ? 4 : 0)
            guard value.count >= place + 5 else { return nil }
            if seconds(value, at: place) > registeredAt { return Reason(rawValue: value[place + 4]) ?? Reason.none }
        }
        guard let refused = RefusedKind.all(in: end(of: value)) else { return nil }
        return refused.contains { $0.kind == kind && $0.at > registeredAt } ? .invalid : nil
    }

    /// The bytes behind the texts of a value; empty if that is cut short.
    private static func end(of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var place = textsPlace(in: value)
        func skip(_ flag: UInt8, _ count: (_ first: UInt8) -> Int) {
            guard value[0] & flag != 0 else { return }
            place += place < value.count ? count(value[place]) : 1
        }
        skip(Flag.locale) { 1 + Int($0) }
        skip(Flag.zoneCode) { _ in 2 }
        skip(Flag.zoneText) { 1 + Int($0) }
        return UnsafeRawBufferPointer(rebasing: value[min(place, value.count)...])
    }

    /// The place of the texts in a value of this layout, or behind its end.
    private static func textsPlace(in value: UnsafeRawBufferPointer) -> Int {
        func bytes(of flag: UInt8, _ count: Int) -> Int { value[0] & flag != 0 ? count : 0 }
        return fixedBytes + bytes(of: Flag.described, 4) + bytes(of: Flag.tombstone, 5) + bytes(of: Flag.badge, 4)
    }

    /// Reads only the last registration, UNIX seconds; nil if there was none or the value is not of this layout.
    package static func registeredAt(_ value: UnsafeRawBufferPointer) -> UInt32? {
        guard value.count >= fixedBytes, value[0] & Flag.unknown == 0 else { return nil }
        let registeredAt = seconds(value, at: 1)
        return registeredAt == 0 ? nil : registeredAt
    }

    /// Reads only the language, a BCP 47 tag, in place; nil if it is not known or the value is not of this layout.
    package static func locale(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard value.count >= fixedBytes, value[0] & Flag.unknown == 0, value[0] & Flag.locale != 0 else { return nil }
        let place = textsPlace(in: value)
        guard value.count > place, value.count > place + Int(value[place]) else { return nil }
        return UnsafeRawBufferPointer(rebasing: value[place + 1..<place + 1 + Int(value[place])])
    }

    /// Reads the whole value; nil if it is not of this layout.
    package init?(_ value: UnsafeRawBufferPointer) {
        guard value.count >= Self.fixedBytes, value[0] & Flag.unknown == 0 else { return nil }
        let flags = value[0]
        var place = Self.fixedBytes
        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
        let announced = (has(Flag.described) ? 4 : 0) + (has(Flag.tombstone) ? 5 : 0) + (has(Flag.badge) ? 4 : 0)
        guard value.count >= place + announced else { return nil }
        registeredAt = Self.seconds(value, at: 1)
        if has(Flag.described) {
            describedAt = Self.seconds(value, at: place)
            place += 4
        }
        if has(Flag.tombstone) {
            tombstonedAt = Self.seconds(value, at: place)
            guard let reason = Reason(rawValue: value[place + 4]) else { return nil }
            self.reason = reason
            place += 5
        }
        if has(Flag.badge) {
            badge = Self.seconds(value, at: place)
            place += 4
        }
        var rest = value[place...]
        guard let texts = TokenTexts(flags: flags, &rest),
            let refused = RefusedKind.all(in: UnsafeRawBufferPointer(rebasing: rest))
        else { return nil }
        self.texts = texts
        self.refused = refused
    }

    /// The bytes of this record.
    var bytes: [UInt8] {
        var flags = texts.flags
        var bytes: [UInt8] = []
        func append(_ number: UInt32) {
            for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        append(registeredAt)
        if describedAt > 0 {
            flags |= Flag.described
            append(describedAt)
        }
        if tombstonedAt > 0 {
            flags |= Flag.tombstone
            append(tombstonedAt)
            bytes.append(reason.rawValue)
        }
        if let badge {
            flags |= Flag.badge
            append(badge)
        }
        bytes += texts.bytes
        for word in refused {
            bytes.append(word.kind.rawValue)
            append(word.at)
        }
        return [flags] + bytes
    }

    private static func seconds(_ value: UnsafeRawBufferPointer, at place: Int) -> UInt32 {
        UInt32(littleEndian: value.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }
}
