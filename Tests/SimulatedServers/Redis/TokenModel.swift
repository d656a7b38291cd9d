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
    /// Times by kind of topic, UNIX seconds.
    var refused: [UInt8: UInt32] = [:]
    private var badge: [UInt8] = []

    private typealias Flag = TokenRecord.Flag

    init() {}

    /// For topics of some kind at least.
    var isDead: Bool { latestDeath > registered }

    /// UNIX seconds; 0: there is none.
    var latestDeath: UInt32 { max(tombstoned, refused.values.max() ?? 0) }

    // MARK: The rules

    /// - Returns: true: it took a tombstone away.
    mutating func register(at time: UInt32, kinds: UInt8 = 0, texts: [UInt8] = []) -> Bool {
        describe(at: time, kinds: kinds, texts: texts)
        registered = max(registered, time)
        if described <= registered { described = 0 }
        let former = refused.count
        refused = refused.filter { $0.value > registered }
        guard tombstoned > 0, tombstoned <= registered else { return refused.count < former }
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

    mutating func refuse(at time: UInt32, kind: UInt8) {
        guard time > registered else { return }
        refused[kind] = max(refused[kind] ?? 0, time)
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
        var end = rest.startIndex
        func skip(_ flag: UInt8, _ count: (_ first: UInt8) -> Int) {
            guard flags & flag != 0 else { return }
            end += end < rest.endIndex ? count(rest[end]) : 1
        }
        skip(Flag.locale) { 1 + Int($0) }
        skip(Flag.zoneCode) { _ in 2 }
        skip(Flag.zoneText) { 1 + Int($0) }
        guard end <= rest.endIndex, (rest.endIndex - end).isMultiple(of: RefusedKind.byteCount) else { return nil }
        texts = Array(rest[..<end])
        rest = rest[end...]
        while let kind = rest.popFirst() { refused[kind] = Self.take(&rest) }
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
        value += badge + texts
        return value + refusedBytes(room: TokenRecord.limitBytes - value.count)
    }

    /// The latest refusals, as many as find room.
    func refusedBytes(room: Int) -> [UInt8] {
        refused.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(max(0, room) / RefusedKind.byteCount)
            .flatMap { [$0.key] + Self.bytes($0.value) }
    }

    private static func take(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
