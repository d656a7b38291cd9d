import TestSupport
import Testing

@testable import TokenState

@Suite struct DeadTokenSetServerTests {
    private func hash(_ number: Int) -> UInt64 {
        withUnsafeBytes(of: number.littleEndian) { DeadTokenSet.hash($0) }
    }

    @Test("What is told in any order, and repeatedly, ends in the maximum of both times; no tombstone is missing ever")
    func anyOrder() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let set = DeadTokenSet()
            // In units of the set, so that what it may forget is exact.
            let told = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
                (
                    registered: UInt32.random(in: 0...5, using: &generator) * 64,
                    tombstoned: UInt32.random(in: 0...5, using: &generator) * 64
                )
            }
            for record in (told + told.shuffled(using: &generator)) {
                let old = set.merge(hash(1), registeredAt: record.registered, tombstonedAt: record.tombstoned)
                #expect(old == nil)
            }
            let isDead = told.map(\.tombstoned).max() ?? 0 > told.map(\.registered).max() ?? 0
            // A token too many is asked of Redis; a missing dead token would be sent to.
            if isDead { #expect(set.contains(hash(1)), "\(told)") }
            #expect(!set.contains(hash(2)))
        }
    }

    @Test("A registration ends a tombstone that is not younger, and only that")
    func revival() {
        let set = DeadTokenSet()
        _ = set.merge(hash(1), registeredAt: 0, tombstonedAt: 6400)
        _ = set.merge(hash(1), registeredAt: 6399, tombstonedAt: 0)
        #expect(set.contains(hash(1)))
        _ = set.merge(hash(1), registeredAt: 6400, tombstonedAt: 0)
        #expect(!set.contains(hash(1)))
        #expect(set.count == 0)
        _ = set.merge(hash(1), registeredAt: 6400, tombstonedAt: 6401)
        #expect(set.contains(hash(1)))
        // The same minute is not told apart: Redis is asked rather than a dead token sent to.
        _ = set.merge(hash(1), registeredAt: 6402, tombstonedAt: 0)
        #expect(set.contains(hash(1)))
        set.forget(hash(1))
        #expect(!set.contains(hash(1)))
        set.forget(hash(1))
        #expect(set.count == 0)
        _ = set.merge(hash(2), registeredAt: 6400, tombstonedAt: 6400)
        #expect(!set.contains(hash(2)), "in the same second the token lives")
    }

    @Test("A token whose hash has none of the kept bits is as good as another, and so is one that collides with it")
    func emptyHash() {
        let set = DeadTokenSet()
        // Hashes that fall into the first and second word of an empty set.
        let (none, first, second) = (0 as UInt64, 256 << 26 as UInt64, 257 << 26 as UInt64)
        for hash in [none, first, second] { _ = set.merge(hash, registeredAt: 0, tombstonedAt: 1) }
        #expect(set.contains(none) && set.contains(first) && set.contains(second))
        set.forget(none)
        #expect(!set.contains(none) && set.contains(first) && set.contains(second))
        _ = set.merge(none, registeredAt: 0, tombstonedAt: 1)
        #expect(set.contains(none) && set.count == 3)
    }

    @Test("One that may not grow is given up: it calls every token dead, and takes nothing any more")
    func givenUp() {
        let set = DeadTokenSet()
        let room = 2 * DeadTokenSet.firstBytes
        var replaced = 0
        for number in 0..<384 where set.merge(hash(number), registeredAt: 0, tombstonedAt: 1, roomBytes: room) != nil {
            replaced += 1
        }
        #expect(replaced == 1 && !set.isGivenUp && set.bytes == room && !set.contains(hash(1000)))
        #expect(set.merge(hash(384), registeredAt: 0, tombstonedAt: 1, roomBytes: room) != nil, "to be freed")
        #expect(set.isGivenUp && set.bytes == 0 && set.count == 0 && set.contains(hash(1000)))
        #expect(set.merge(hash(385), registeredAt: 0, tombstonedAt: 1, roomBytes: room) == nil)
        _ = set.merge(hash(1), registeredAt: 9, tombstonedAt: 0)
        set.forget(hash(2))
        #expect(set.contains(hash(1)) && set.contains(hash(2)) && set.count == 0)
    }

    @Test("Times up to the last second that a word can say are kept")
    func lastSecond() {
        let set = DeadTokenSet()
        _ = set.merge(hash(1), registeredAt: .max - 1, tombstonedAt: .max)
        #expect(set.contains(hash(1)))
        _ = set.merge(hash(2), registeredAt: 0, tombstonedAt: 1)
        #expect(set.contains(hash(2)))
    }

    @Test("It grows, and holds what it was told and hardly anything else; what is removed makes room")
    func growth() {
        let set = DeadTokenSet()
        var replaced = 0
        for number in 0..<100_000 where set.merge(hash(number), registeredAt: 0, tombstonedAt: 1) != nil {
            replaced += 1
        }
        #expect(replaced > 5)
        #expect(set.count == 100_000)
        #expect((0..<100_000).allSatisfy { set.contains(hash($0)) })
        let mistaken = (100_000..<1_100_000).count { set.contains(hash($0)) }
        #expect(mistaken < 100)
        for number in 0..<100_000 { set.forget(hash(number)) }
        #expect(set.count == 0)
        // As large as before at most: what was removed is not kept.
        for number in 200_000..<300_000 { _ = set.merge(hash(number), registeredAt: 0, tombstonedAt: 1) }
        #expect((0..<100_000).count { set.contains(hash($0)) } < 100)
        #expect((200_000..<300_000).allSatisfy { set.contains(hash($0)) })
    }

    @Test("Tombstones that come and go leave room for others, and take no more memory")
    func churn() {
        let set = DeadTokenSet()
        var replaced = 0
        // Fewer than it has words, more than it fills of them.
        for number in 0..<250 {
            if set.merge(hash(number), registeredAt: 0, tombstonedAt: 1) != nil { replaced += 1 }
            set.forget(hash(number))
        }
        #expect(replaced == 1 && set.bytes == DeadTokenSet.firstBytes && set.count == 0)
    }

    @Test("Many threads read while one writes, and never miss what was there before they began")
    func concurrent() async {
        let set = DeadTokenSet()
        for number in 0..<1000 { _ = set.merge(hash(number), registeredAt: 0, tombstonedAt: 1) }
        let missing = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    (0..<200).reduce(0) { missed, _ in
                        missed
                            + (0..<1000).count { number in
                                !withUnsafeBytes(of: number.littleEndian) { set.contains(DeadTokenSet.hash($0)) }
                            }
                    }
                }
            }
            group.addTask {
                // Kept to the end, as the contract wants it: readers may be anywhere.
                var tables: [DeadTokenSet.Table] = []
                for number in 1000..<200_000 {
                    let hash = withUnsafeBytes(of: number.littleEndian) { DeadTokenSet.hash($0) }
                    if let old = set.merge(hash, registeredAt: 0, tombstonedAt: 1) { tables.append(old) }
                }
                Self.retired.append(tables)
                return 0
            }
            return await group.reduce(0, +)
        }
        #expect(missing == 0)
    }

    /// Tables that readers may still be in.
    private static let retired = Retired()

    private final class Retired: @unchecked Sendable {
        private var tables: [[DeadTokenSet.Table]] = []

        func append(_ more: [DeadTokenSet.Table]) { tables.append(more) }
    }
}
