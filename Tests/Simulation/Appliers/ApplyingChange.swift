@testable import SimulatedServers

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

extension TokenModel {
    /// The permutation rule: the state to which changes lead, whatever their order, and however often each comes.
    init(after changes: some Sequence<ApplyingChange>) {
        self.init()
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
        switch change.kind {
        case .register: return register(at: change.at, kinds: change.code, texts: change.texts)
        case .describe: describe(at: change.at, kinds: change.code, texts: change.texts)
        case .tombstone: tombstone(at: change.at, reason: change.code)
        }
        return false
    }
}
