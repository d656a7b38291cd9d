import TestSupport
import Testing

@testable import PipelineCore

/// Copies are stored in their order, whatever the producer does.
@Suite struct CopyQueueTests {
    @Test("After a failure nothing goes out until all that is out is answered; then what failed goes first")
    func failure() {
        var queue = CopyQueue()
        for number in 1...5 as ClosedRange<UInt64> { queue.append(number) }
        let given = (0..<3).map { _ in queue.next() }
        #expect(given == [1, 2, 3])
        queue.failed(2)
        #expect(queue.next() == nil)
        queue.settled(1)
        #expect(queue.next() == nil)
        #expect(queue.unanswered == [2, 4, 5])
        queue.failed(3)
        #expect((0..<5).map { _ in queue.next() } == [2, 3, 4, 5, nil])
        for number in 2...5 as ClosedRange<UInt64> { queue.settled(number) }
        #expect(queue.isEmpty)
    }

    @Test("What the producer had no room for stays the next")
    func noRoom() {
        var queue = CopyQueue()
        queue.append(1)
        queue.append(2)
        #expect(queue.next() == 1)
        #expect(queue.next() == 2)
        queue.notTaken(2)
        #expect(queue.unanswered == [2])
        #expect(queue.next() == 2)
    }

    @Test("The first times that numbers are stored come in order, each number at least once", arguments: 0..<200)
    func order(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = CopyQueue()
        var stored: [UInt64] = []
        var out: [UInt64] = []
        var appended: UInt64 = 0
        var isBroken = false
        while stored.last != 300 || !queue.isEmpty {
            if appended < 300, random.chance(40) {
                appended += 1
                queue.append(appended)
            }
            if random.chance(50), let number = queue.next() {
                if random.chance(10) { queue.notTaken(number) } else { out.append(number) }
            }
            // A producer that broke fails everything it has, of which the first few may be stored all the same.
            if !isBroken, random.chance(5) {
                isBroken = !out.isEmpty
                for number in out.prefix(Int.random(in: 0...3, using: &random)) { stored.append(number) }
            }
            guard !out.isEmpty, random.chance(50) else { continue }
            let number = out.removeFirst()
            if isBroken {
                queue.failed(number)
                isBroken = !out.isEmpty
            } else {
                stored.append(number)
                queue.settled(number)
            }
        }
        var newest: UInt64 = 0
        for number in stored where number > newest {
            #expect(number == newest + 1, "a newer copy overtook an older one")
            newest = number
        }
        #expect(newest == 300)
    }
}
