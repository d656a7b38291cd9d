import Testing

@testable import Sender

@Suite("Writes in the order of their keys")
struct OrderedWritesTests {
    private typealias Writes = OrderedWrites<String, Int>

    private var writes = Writes()

    // Expectations cannot hold mutating calls.

    /// Adds a write whose turn comes at once.
    private mutating func begin(_ write: Int, of key: String) throws -> Writes.Turn {
        let added = writes.add(write, of: key)
        let turn = try #require(added)
        #expect(turn.write == write && writes.isOpen(turn))
        return turn
    }

    /// Adds writes that have to wait.
    private mutating func queue(_ added: Int..., of key: String) {
        for write in added {
            let turn = writes.add(write, of: key)
            #expect(turn == nil)
        }
    }

    /// - Returns: the turn that comes then.
    private mutating func end(_ turn: Writes.Turn) -> Writes.Turn? {
        let next = writes.end(turn)
        #expect(!writes.isOpen(turn))
        return next
    }

    @Test("Writes of one key have their turns one after the other, and others do not wait for them")
    mutating func turns() throws {
        let first = try begin(1, of: "a")
        queue(2, 3, of: "a")
        let other = try begin(4, of: "b")
        let afterOther = end(other)
        #expect(afterOther == nil)
        let afterFirst = end(first)
        let second = try #require(afterFirst)
        #expect(second.write == 2 && writes.isOpen(second))
        let afterSecond = end(second)
        let third = try #require(afterSecond)
        #expect(third.write == 3 && !writes.isEmpty)
        let afterThird = end(third)
        #expect(afterThird == nil && writes.isEmpty)
        _ = try begin(5, of: "a")
    }

    @Test("A write that failed keeps its turn, and is made again before those behind it")
    mutating func failed() throws {
        let first = try begin(1, of: "a")
        let other = try begin(2, of: "b")
        let isFirst = [writes.fail(first), writes.fail(other)]
        #expect(isFirst == [true, false], "the owner waits once for all of them")
        queue(3, of: "a")
        #expect(writes.isOpen(first))
        let again = writes.takeFailed()
        #expect(again.map(\.write) == [1, 2])
        let none = writes.takeFailed()
        let isFirstAgain = writes.fail(first)
        #expect(none.isEmpty && isFirstAgain)
        let second = end(first)
        #expect(second?.write == 3)
    }

    @Test("All writes can be taken in the order of adding; none of them has a turn any more")
    mutating func takenAll() throws {
        let first = try begin(1, of: "b")
        let second = try begin(2, of: "a")
        queue(3, of: "b")
        queue(4, 5, of: "a")
        queue(6, of: "b")
        let next = end(first)
        let third = try #require(next)
        _ = writes.fail(second)
        let all = writes.takeAll()
        #expect(all == [2, 3, 4, 5, 6] && writes.isEmpty)
        #expect(!writes.isOpen(second) && !writes.isOpen(third))
        let failed = writes.takeFailed()
        #expect(failed.isEmpty)
        // A late answer to the former one does not concern it.
        _ = try begin(7, of: "a")
        #expect(!writes.isOpen(second))
    }

    @Test("However many wait behind one, they have their turns in order", arguments: [1, 2, 3, 1000])
    mutating func long(count: Int) throws {
        var turn = try begin(0, of: "a")
        for write in 1...count { queue(write, of: "a") }
        for write in 1...count {
            let next = end(turn)
            turn = try #require(next)
            #expect(turn.write == write)
            // The line never becomes empty.
            queue(count + write, of: "a")
        }
        let rest = writes.takeAll()
        #expect(rest == Array(count...2 * count))
    }

    @Test("As many turns are open as the limit says, one that failed among them; others come as these end, in turn")
    mutating func limit() throws {
        writes = Writes(most: 2)
        let first = try begin(1, of: "a")
        let second = try begin(2, of: "b")
        queue(3, of: "c")
        queue(4, of: "a")
        _ = writes.fail(second)
        let third = try #require(end(first))
        #expect(third.write == 3, "it has waited for longer than the next of the same key")
        let again = writes.takeFailed()
        #expect(again.map(\.write) == [2])
        let fourth = try #require(end(second))
        let none = end(third)
        #expect(fourth.write == 4 && none == nil)
        let fifth = try begin(5, of: "d")
        queue(6, of: "e")
        #expect(writes.takeAll() == [4, 5, 6] && writes.isEmpty && !writes.isOpen(fifth))
        _ = try begin(7, of: "a")
        _ = try begin(8, of: "b")
        queue(9, of: "c")
    }
}
