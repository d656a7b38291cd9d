/// A change of a token's state, as a record means it and as Redis is asked for it.
struct ApplyingChange: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case register, describe, tombstone
    }

    /// The token's number.
    var token: Int
    var kind: Kind
    /// UNIX seconds.
    var at: UInt32
    /// The flags of the texts, or the reason of the tombstone.
    var code: UInt8
    var texts: [UInt8] = []

    /// A death before everything, which changes nothing: it asks for the facts.
    var isQuestion: Bool { kind == .tombstone && at == 0 }

    /// The texts of a description in the order in which the scripts prefer them.
    func precedes(_ other: ApplyingChange) -> Bool {
        code != other.code ? code < other.code : texts.lexicographicallyPrecedes(other.texts)
    }
}

/// The state of a token.
struct ApplyingState: Hashable, Sendable {
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

    var isDead: Bool { tombstoned > registered }

    init() {}

    /// The permutation rule: the state to which changes lead, whatever their order, and however often each comes.
    init(after changes: some Sequence<ApplyingChange>) {
        let described = changes.filter { $0.kind != .tombstone }
        let registered = described.filter { $0.kind == .register }.map(\.at).max() ?? 0
        self.registered = registered
        if let last = described.map(\.at).max() {
            let newest = described.filter { $0.at == last }.max { $0.precedes($1) }
            kinds = newest?.code ?? 0
            texts = newest?.texts ?? []
            self.described = last > registered ? last : 0
        }
        let deaths = changes.filter { $0.kind == .tombstone && $0.at > registered }
        if let last = deaths.map(\.at).max() {
            tombstoned = last
            reason = deaths.filter { $0.at == last }.map(\.code).min() ?? 0
        }
    }

    /// Makes one change, step by step as the script does.
    ///
    /// - Returns: true: it took a tombstone away.
    mutating func make(_ change: ApplyingChange) -> Bool {
        if change.kind == .tombstone {
            bury(change)
            return false
        }
        let last = max(registered, described)
        if change.at > last || change.at == last && isPreceded(by: change) {
            kinds = change.code
            texts = change.texts
        }
        described = max(last, change.at)
        if change.kind == .register { registered = max(registered, change.at) }
        if described <= registered { described = 0 }
        guard change.kind == .register, tombstoned > 0, tombstoned <= registered else { return false }
        tombstoned = 0
        reason = 0
        return true
    }

    private func isPreceded(by change: ApplyingChange) -> Bool {
        kinds != change.code ? kinds < change.code : texts.lexicographicallyPrecedes(change.texts)
    }

    private mutating func bury(_ change: ApplyingChange) {
        guard change.at > registered, change.at > tombstoned || change.at == tombstoned && change.code < reason else {
            return
        }
        tombstoned = change.at
        reason = change.code
    }
}
