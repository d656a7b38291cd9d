/// What Redis keeps of one token in one environment: the value under ``TokenKey``.
///
/// Layout, version 1, little-endian: version (1) · reason (1) · registered at (4, UNIX seconds, 0 = never) · tombstoned at
/// (4, UNIX seconds, 0 = not) · locale length (1) · locale · time zone length (1) · time zone. Written by ``TokenScripts``
/// alone, so that every change is atomic on the server.
struct TokenRecord: Equatable, Sendable {
    /// Why a token was tombstoned.
    enum Reason: UInt8, Sendable, CaseIterable {
        case none = 0
        /// The feedback service listed it.
        case feedback = 1
        /// The gateway called it invalid.
        case invalid = 2
        /// The app unregistered it.
        case unregistered = 3

        var name: String {
            switch self {
            case .none: "none"
            case .feedback: "feedback"
            case .invalid: "invalid-token"
            case .unregistered: "unregistered"
            }
        }
    }

    static let version: UInt8 = 1
    /// Bytes before the texts.
    static let fixedBytes = 10

    var reason = Reason.none
    /// UNIX seconds; 0: never.
    var registeredAt: UInt32 = 0
    /// UNIX seconds; 0: not.
    var tombstonedAt: UInt32 = 0
    var locale = ""
    var timeZone = ""

    /// A dead token stays silent until it registers again.
    var isDead: Bool { tombstonedAt > registeredAt }

    /// Reads only what decides about sending; nil if the token lives or the value is not of a known version (a needless
    /// send is better than a wrong silence).
    static func reasonOfDeath(_ value: UnsafeRawBufferPointer) -> Reason? {
        guard value.count >= fixedBytes, value[0] == version else { return nil }
        let registeredAt = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        let tombstonedAt = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 6, as: UInt32.self))
        return tombstonedAt > registeredAt ? Reason(rawValue: value[1]) ?? Reason.none : nil
    }

    /// Reads only when the token registered last, UNIX seconds; nil if it never did or the value is not of a known version.
    static func registeredAt(_ value: UnsafeRawBufferPointer) -> UInt32? {
        guard value.count >= fixedBytes, value[0] == version else { return nil }
        let registeredAt = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        return registeredAt == 0 ? nil : registeredAt
    }

    /// Reads the whole value; nil if it is not one of version 1.
    init?(_ value: UnsafeRawBufferPointer) {
        guard value.count >= Self.fixedBytes + 2, value[0] == Self.version, let reason = Reason(rawValue: value[1])
        else { return nil }
        self.reason = reason
        registeredAt = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        tombstonedAt = UInt32(littleEndian: value.loadUnaligned(fromByteOffset: 6, as: UInt32.self))
        let localeEnd = Self.fixedBytes + 1 + Int(value[Self.fixedBytes])
        guard localeEnd < value.count, localeEnd + 1 + Int(value[localeEnd]) == value.count else { return nil }
        locale = String(decoding: value[(Self.fixedBytes + 1)..<localeEnd], as: UTF8.self)
        timeZone = String(decoding: value[(localeEnd + 1)...], as: UTF8.self)
    }
}
