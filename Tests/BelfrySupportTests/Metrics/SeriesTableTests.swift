import Synchronization
import Testing

@testable import BelfrySupport

@Suite struct SeriesTableTests {
    /// Counts its comparisons.
    private struct Key: Hashable {
        static let comparisons = Atomic(0)
        let number: Int

        static func == (left: Key, right: Key) -> Bool {
            comparisons.add(1, ordering: .relaxed)
            return left.number == right.number
        }

        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    @Test("Values of one key are combined, and stand where the key came first")
    func merging() {
        var table = SeriesTable<String, Int>()
        for (key, value) in [("b", 1), ("a", 2), ("b", 3)] { table.merge(value, at: key, by: +) }
        #expect(table.map { "\($0) \($1)" } == ["b 4", "a 2"])
    }

    @Test("The series of 2,000 topics in four shards cost a few comparisons each, not one with every other")
    func work() {
        var table = SeriesTable<Key, Int>()
        let before = Key.comparisons.load(ordering: .relaxed)
        for _ in 0..<4 {
            for number in 0..<2000 { table.merge(1, at: Key(number: number), by: +) }
        }
        let comparisons = Key.comparisons.load(ordering: .relaxed) - before
        // One with itself for each repetition, and those with others that lie near by in the table. Each growing of
        // the table compares nothing.
        #expect(comparisons < 10 * 8000, "\(comparisons)")
        #expect(table.map { $1 } == Array(repeating: 4, count: 2000))
    }
}
