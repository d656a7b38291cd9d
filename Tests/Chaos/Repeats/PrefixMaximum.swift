/// The largest of the values at the first so many places, where values only grow: a Fenwick tree.
struct PrefixMaximum: Sendable {
    /// At index i: the largest value of the places behind i − (lowest bit of i), up to i.
    private var nodes: [UInt32]

    /// - Parameter count: of places, whose values are 0.
    init(count: Int) {
        nodes = Array(repeating: 0, count: count + 1)
    }

    /// The value of a place is at least so large.
    mutating func raise(_ place: Int, to value: UInt32) {
        var index = place + 1
        while index < nodes.count {
            nodes[index] = max(nodes[index], value)
            index += index & -index
        }
    }

    /// The largest value up to a place, which counts itself.
    func maximum(through place: Int) -> UInt32 {
        var index = place + 1
        var value: UInt32 = 0
        while index > 0 {
            value = max(value, nodes[index])
            index -= index & -index
        }
        return value
    }
}
