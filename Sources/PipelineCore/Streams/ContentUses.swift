/// Counts the notifications that use each content of the caller's, so that it knows when a content may go.
struct ContentUses {
    /// By number; 0: the number is free, or about to be told.
    private var uses: [UInt32] = []
    private var free: [UInt32] = []
    /// Contents without a use that the caller was not told of.
    private var unused: [UInt32] = []

    /// No number is in use, nor to be told as unused.
    var isEmpty: Bool { free.count == uses.count }

    /// A number for a new content, with one use: the caller's own.
    mutating func add() -> UInt32 {
        if let number = free.popLast() {
            uses[Int(number)] = 1
            return number
        }
        uses.append(1)
        return UInt32(uses.count - 1)
    }

    mutating func use(_ number: UInt32) {
        assert(uses[Int(number)] > 0)
        uses[Int(number)] += 1
    }

    mutating func release(_ number: UInt32) {
        precondition(uses[Int(number)] > 0, "released more often than used")
        uses[Int(number)] -= 1
        if uses[Int(number)] == 0 { unused.append(number) }
    }

    /// A content that is not used any more; its number may be given to another one now.
    mutating func takeUnused() -> UInt32? {
        guard let number = unused.popLast() else { return nil }
        free.append(number)
        return number
    }
}
