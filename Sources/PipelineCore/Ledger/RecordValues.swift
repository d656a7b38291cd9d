/// A value for some of the records of one assignment, by their numbers in its ``CommitFrontier``.
///
/// Numbers wrap at 2³²; those kept span less than half of that.
public struct RecordValues<Value: Sendable>: Sendable {
    private var values: [Value?] = []
    /// Index of the first value kept; those before are spent.
    private var start = 0
    /// Number of the record at `start`.
    private var first: UInt32 = 0

    public init() {}

    /// Keeps a value for a record behind all others that have one.
    public mutating func append(_ value: Value, for record: UInt32) {
        if start == values.count {
            values.removeAll(keepingCapacity: true)
            start = 0
            first = record
        }
        let end = first &+ UInt32(truncatingIfNeeded: values.count - start)
        let skipped = Int32(bitPattern: record &- end)
        precondition(skipped >= 0, "values come in the order of their records")
        for _ in 0..<skipped { values.append(nil) }
        values.append(value)
    }

    public subscript(record: UInt32) -> Value? {
        let index = Int(record &- first)
        return index < values.count - start ? values[start + index] : nil
    }

    /// Forgets the values of the records before this one.
    public mutating func forget(before record: UInt32) {
        let spent = Int(Int32(bitPattern: record &- first))
        guard spent > 0, start < values.count else { return }
        let step = min(spent, values.count - start)
        start += step
        first &+= UInt32(truncatingIfNeeded: step)
        if start > 1024, start * 2 > values.count {
            values.removeFirst(start)
            start = 0
        }
    }
}
