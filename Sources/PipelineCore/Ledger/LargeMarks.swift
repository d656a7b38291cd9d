/// The marked tokens of records with more than 64, a bit each, end to end in the order of the records.
///
/// Records come at the end and go at the front. A record's place is the number of its first word, counted from the
/// first word ever, so that it stays the same while others go. Memory: a bit for each token, at most twice, and 32 KiB
/// more.
struct LargeMarks: Sendable {
    private var words: [UInt64] = []
    /// Index in `words` of the first that is in use.
    private var start = 0
    /// Place of `words[0]`.
    private var firstPlace: UInt64 = 0

    /// Adds a record without marks; returns its place.
    mutating func append(tokens: Int) -> UInt64 {
        let place = firstPlace + UInt64(words.count)
        words.append(contentsOf: repeatElement(0, count: Self.words(tokens)))
        return place
    }

    /// Removes the oldest record.
    mutating func removeFirst(tokens: Int) {
        start += Self.words(tokens)
        precondition(start <= words.count, "the record was added")
        guard start == words.count || start > 4096 && start * 2 > words.count else { return }
        firstPlace += UInt64(start)
        // A shard has thousands of these: what a burst took goes with it.
        if start == words.count { words.removeAll(keepingCapacity: start <= 64) } else { words.removeFirst(start) }
        start = 0
    }

    func contains(_ token: UInt32, at place: UInt64) -> Bool {
        words[index(of: token, place)] & Self.bit(token) != 0
    }

    mutating func insert(_ token: UInt32, at place: UInt64) {
        words[index(of: token, place)] |= Self.bit(token)
    }

    private func index(of token: UInt32, _ place: UInt64) -> Int {
        Int(place - firstPlace) + Int(token / 64)
    }

    private static func words(_ tokens: Int) -> Int { (tokens + 63) / 64 }
    private static func bit(_ token: UInt32) -> UInt64 { 1 << UInt64(token % 64) }
}
