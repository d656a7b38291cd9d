/// Values by key, of which those that were not asked for lately are forgotten. Pure; bounded in number.
///
/// There are two generations. A value that is asked for moves into the young one. When that is full, it becomes the old
/// one, and the former old one is forgotten. So the latest `limit / 2` keys are there, and never more than `limit`.
struct RecentValues<Key: Hashable, Value> {
    private let generationLimit: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// - Parameter limit: most values, at least 2.
    init(limit: Int) {
        precondition(limit >= 2)
        generationLimit = limit / 2
    }

    /// The number of values.
    var count: Int { young.count + old.count }

    /// The value of a key; `make` makes it if it is not there, or not any more.
    mutating func value(of key: Key, _ make: () -> Value) -> Value {
        if let value = young[key] { return value }
        let value = old.removeValue(forKey: key) ?? make()
        if young.count == generationLimit {
            old = young
            young = [:]
        }
        young[key] = value
        return value
    }
}
