/// Values by key, in the order in which their keys came first. Work grows with the number of values, not faster.
struct SeriesTable<Key: Hashable & Sendable, Value: Equatable & Sendable>: Sendable, Equatable {
    private var keys: [Key] = []
    private var values: [Value] = []
    private var places: [Key: Int] = [:]

    /// Sets the value of a new key, or combines it with the one that the key has.
    mutating func merge(_ value: Value, at key: Key, by combine: (Value, Value) -> Value) {
        if let place = places[key] {
            values[place] = combine(values[place], value)
        } else {
            places[key] = keys.count
            keys.append(key)
            values.append(value)
        }
    }

    func map<Result>(_ body: (Key, Value) -> Result) -> [Result] {
        zip(keys, values).map { body($0, $1) }
    }
}
