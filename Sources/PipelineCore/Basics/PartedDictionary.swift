/// A dictionary that may hold hundreds of thousands of entries on an event loop: it grows in parts, one at a time.
///
/// A dictionary that is full moves all of its entries in the call that adds one more, and others with as many entries
/// do so in the same turn. The parts here are of different sizes, so that each is full at another time.
public struct PartedDictionary<Key: Hashable, Value> {
    @usableFromInline var parts: [[Key: Value]]
    @usableFromInline var entries = 0

    @inlinable
    public init() { parts = Array(repeating: [:], count: 32) }

    @inlinable
    public var count: Int { entries }
    @inlinable
    public var isEmpty: Bool { entries == 0 }

    /// The values, in no order.
    @inlinable
    public var values: some Sequence<Value> { parts.lazy.flatMap(\.values) }

    /// Of 32 parts each gets a little more than the one before it, and the last twice as much as the first: roots of
    /// evenly spread numbers are dense in the end.
    @inlinable
    func part(of key: Key) -> Int {
        let place = Float(key.hashValue & 0xFFF) / 4096
        return Int((1 + 3 * place).squareRoot() * 32) - 32
    }

    @inlinable
    public subscript(key: Key) -> Value? {
        get { isEmpty ? nil : parts[part(of: key)][key] }
        _modify {
            let part = part(of: key)
            let before = parts[part].count
            defer { entries += parts[part].count - before }
            yield &parts[part][key]
        }
    }

    @inlinable @discardableResult
    public mutating func removeValue(forKey key: Key) -> Value? {
        guard !isEmpty, let value = parts[part(of: key)].removeValue(forKey: key) else { return nil }
        entries -= 1
        return value
    }

    /// Makes room for an entry: if its part is full, what is of no use any more leaves the part.
    ///
    /// - Parameter keeps: an entry is still of use.
    @inlinable
    public mutating func makeRoom(for key: Key, keeps: (Value) -> Bool) {
        let part = part(of: key)
        let most = parts[part].capacity
        guard parts[part].count == most else { return }
        for gone in parts[part].filter({ !keeps($0.value) }).keys { removeValue(forKey: gone) }
        // Else the few that have left would soon be replaced, and all be looked at again.
        if parts[part].count * 2 > most { parts[part].reserveCapacity(most + 1) }
    }

    /// Room for more entries than so many goes, if it is empty.
    @inlinable
    public mutating func shrinkIfEmpty(to capacity: Int) {
        if isEmpty, parts.reduce(0, { $0 + $1.capacity }) > capacity { self = Self() }
    }
}

extension PartedDictionary: Sendable where Key: Sendable, Value: Sendable {}
