@testable import TokenState

/// The state of a token as ``TokenScripts`` keep it, changed by their rules.
struct TokenModel: Hashable, Sendable {
    /// UNIX seconds; 0: never.
    var registered: UInt32 = 0
    /// UNIX seconds of the description, if it is later than the registration; else 0.
    var described: UInt32 = 0
    /// UNIX seconds; 0: no tombstone.
    var tombstoned: UInt32 = 0
    var reason: UInt8 = 0
    /// The flags of the texts.
    var kinds: UInt8 = 0
    var texts: [UInt8] = []
    private var badge: [UInt8] = []

    private typealias Flag = TokenRecord.Flag

    init() {}

    var isDead: Bool { tombstoned > registered }

    // MARK: The rules

    /// - Returns: true: it took a tombstone away.
    mutating func register(at time: UInt32, kinds: UInt8 = 0, texts: [UInt8] = []) -> Bool {
        describe(at: time, kinds: kinds, texts: texts)
        registered = max(registered, time)
        if described <= registered { described = 0 }
        guard tombstoned > 0, tombstoned <= registered else { return false }
        tombstoned = 0
        reason = 0
        return true
    }

    mutating func describe(at time: UInt32, kinds: UInt8, texts: [UInt8]) {
        let last = max(registered, described)
        if time > last || time == last && isPreceded(by: kinds, texts) {
            self.kinds = kinds
            self.texts = texts
        }
        described = max(last, time)
        if described <= registered { described = 0 }
    }

    private func isPreceded(by kinds: UInt8, _ texts: [UInt8]) -> Bool {
        self.kinds != kinds ? self.kinds < kinds : self.texts.lexicographicallyPrecedes(texts)
    }

    mutating func tombstone(at time: UInt32, reason: UInt8) {
        guard time > registered, time > tombstoned || time == tombstoned && reason < self.reason else { return }
        tombstoned = time
        self.reason = reason
    }

    // MARK: The value

    /// Nil: the value is cut short.
    init?(_ value: [UInt8]) {
        guard value.count >= TokenRecord.fixedBytes else { return nil }
        let flags = value[0]
        var rest = value.dropFirst()
        let needed = 4 + (flags & Flag.described != 0 ? 4 : 0) + (flags & Flag.tombstone != 0 ? 5 : 0)
        guard rest.count >= needed + (flags & Flag.badge != 0 ? 4 : 0) else { return nil }
        registered = Self.take(&rest)
        kinds = flags & (Flag.locale | Flag.zoneCode | Flag.zoneText)
        if flags & Flag.described != 0 { described = Self.take(&rest) }
        if flags & Flag.tombstone != 0 {
            tombstoned = Self.take(&rest)
            reason = rest.removeFirst()
        }
        if flags & Flag.badge != 0 {
            badge = Array(rest.prefix(4))
            rest = rest.dropFirst(4)
        }
        texts = Array(rest)
    }

    var value: [UInt8] {
        var value = [kinds] + Self.bytes(registered)
        if described > 0 {
            value[0] |= Flag.described
            value += Self.bytes(described)
        }
        if tombstoned > 0 {
            value[0] |= Flag.tombstone
            value += Self.bytes(tombstoned) + [reason]
        }
        if !badge.isEmpty { value[0] |= Flag.badge }
        return value + badge + texts
    }

    private static func take(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
