import PushSchemas

import TokenState

/// The numbers of tokens as ``BadgeScript`` keeps them, by key.
struct BadgeModel {
    private struct Badge {
        var base: UInt32 = 0
        var entries: [Entry] = []

        var number: UInt32 { entries.reduce(base) { $1.change?.applied(to: $0) ?? $0 } }

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            guard entries.count > BadgeScript.limit else { return }
            let oldest = entries.remove(at: entries.firstIndex { $0.change == nil } ?? 0)
            base = oldest.change?.applied(to: base) ?? base
        }
    }

    private struct Entry {
        var mark: [UInt8]
        /// Nil: it was taken back.
        var change: BadgeChange?
        var claimedAt: Int
    }

    private var badges: [[UInt8]: Badge] = [:]

    init() {}

    func number(_ key: [UInt8]) -> UInt32 { badges[key]?.number ?? 0 }

    /// The rule of the script that makes a change. Arguments: mark, claim, kind, number.
    ///
    /// - Returns: the number afterwards.
    mutating func change(_ key: [UInt8], _ arguments: [[UInt8]]) -> Int {
        let number = Self.number(arguments[3])
        let change: BadgeChange = Self.number(arguments[2]) == 1 ? .set(UInt32(number)) : .add(Int32(number))
        put(Entry(mark: arguments[0], change: change, claimedAt: Self.number(arguments[1])), in: key)
        return Int(self.number(key))
    }

    /// The rule of the script that takes a change back. Arguments: mark, claim.
    ///
    /// - Returns: the number afterwards.
    mutating func takeBack(_ key: [UInt8], _ arguments: [[UInt8]]) -> Int {
        put(Entry(mark: arguments[0], change: nil, claimedAt: Self.number(arguments[1])), in: key)
        return Int(number(key))
    }

    private mutating func put(_ entry: Entry, in key: [UInt8]) {
        var badge = badges[key] ?? Badge()
        defer { badges[key] = badge }
        guard let place = badge.entries.firstIndex(where: { $0.mark == entry.mark }) else { return badge.append(entry) }
        let former = badge.entries[place]
        guard former.claimedAt <= entry.claimedAt else { return }
        if former.change != nil || entry.change == nil {
            badge.entries[place].claimedAt = entry.claimedAt
            if entry.change == nil { badge.entries[place].change = nil }
        } else {
            badge.entries.remove(at: place)
            badge.append(entry)
        }
    }

    private static func number(_ text: [UInt8]) -> Int { Int(String(decoding: text, as: UTF8.self)) ?? 0 }
}
