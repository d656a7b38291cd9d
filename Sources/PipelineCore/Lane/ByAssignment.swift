/// A value for each assignment of a shard. The assignment used last costs no look-up: records of one come in a row.
struct ByAssignment<Value> {
    private var latest: UInt32 = 0
    private var latestValue: Value?
    /// Values of the assignments other than the latest.
    private var others: [UInt32: Value] = [:]

    /// Assignments with a value.
    var count: Int { others.count + (latestValue == nil ? 0 : 1) }

    subscript(assignment: UInt32) -> Value? {
        mutating get {
            turn(to: assignment)
            return latestValue
        }
        set {
            turn(to: assignment)
            latestValue = newValue
        }
    }

    /// Removes the values that do not satisfy a condition.
    mutating func keep(where isKept: (Value) -> Bool) {
        others = others.filter { isKept($0.value) }
        latestValue = latestValue.flatMap { isKept($0) ? $0 : nil }
    }

    @inline(__always)
    private mutating func turn(to assignment: UInt32) {
        if assignment != latest { exchange(assignment) }
    }

    private mutating func exchange(_ assignment: UInt32) {
        if let latestValue { others[latest] = latestValue }
        latest = assignment
        latestValue = others.removeValue(forKey: assignment)
    }
}
