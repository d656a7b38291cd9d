import TestSupport
import Testing

@testable import TokenState

@Suite struct TombstoneFilterTests {
    private func hash(_ number: Int) -> UInt64 {
        withUnsafeBytes(of: number.littleEndian) { TombstoneFilter.hash($0) }
    }

    @Test("What is told in any order, and repeatedly, ends in the maximum of both times; no tombstone is missing ever")
    func anyOrder() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let filter = TombstoneFilter()
            // In units of the filter, so that what it may forget is exact.
            let told = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
                (
                    registered: UInt32.random(in: 0...5, using: &generator) * 64,
                    tombstoned: UInt32.random(in: 0...5, using: &generator) * 64
                )
            }
            for record in (told + told.shuffled(using: &generator)) {
                let old = filter.merge(hash(1), registeredAt: record.registered, tombstonedAt: record.tombstoned)
                #expect(old == nil)
            }
            let isDead = told.map(\.tombstoned).max() ?? 0 > told.map(\.registered).max() ?? 0
            // What it holds too much is asked of Redis; what it holds too little would be sent to.
            if isDead { #expect(filter.contains(hash(1)), "\(told)") }
            #expect(!filter.contains(hash(2)))
        }
    }

    @Test("A registration ends a tombstone that is not younger, and only that")
    func revival() {
        let filter = TombstoneFilter()
        _ = filter.merge(hash(1), registeredAt: 0, tombstonedAt: 6400)
        _ = filter.merge(hash(1), registeredAt: 6399, tombstonedAt: 0)
        #expect(filter.contains(hash(1)))
        _ = filter.merge(hash(1), registeredAt: 6400, tombstonedAt: 0)
        #expect(!filter.contains(hash(1)))
        #expect(filter.count == 0)
        _ = filter.merge(hash(1), registeredAt: 6400, tombstonedAt: 6401)
        #expect(filter.contains(hash(1)))
        // The same minute is not told apart: Redis is asked rather than a dead token sent to.
        _ = filter.merge(hash(1), registeredAt: 6402, tombstonedAt: 0)
        #expect(filter.contains(hash(1)))
        filter.forget(hash(1))
        #expect(!filter.contains(hash(1)))
        filter.forget(hash(1))
        #expect(filter.count == 0)
        _ = filter.merge(hash(2), registeredAt: 6400, tombstonedAt: 6400)
        #expect(!filter.contains(hash(2)), "in the same second the token lives")
    }

    @Test("A token whose hash has none of the bits that are kept is as good as another, and so is who collides with it")
    func emptyHash() {
        let filter = TombstoneFilter()
        // Where an empty one has its first and second word.
        let (none, first, second) = (0 as UInt64, 256 << 26 as UInt64, 257 << 26 as UInt64)
        for hash in [none, first, second] { _ = filter.merge(hash, registeredAt: 0, tombstonedAt: 1) }
        #expect(filter.contains(none) && filter.contains(first) && filter.contains(second))
        filter.forget(none)
        #expect(!filter.contains(none) && filter.contains(first) && filter.contains(second))
        _ = filter.merge(none, registeredAt: 0, tombstonedAt: 1)
        #expect(filter.contains(none) && filter.count == 3)
    }

    @Test("One that may not grow is given up: it calls every token dead, and takes nothing any more")
    func givenUp() {
        let filter = TombstoneFilter()
        let room = 2 * TombstoneFilter.firstBytes
        var replaced = 0
        for number in 0..<384 where filter.merge(hash(number), registeredAt: 0, tombstonedAt: 1, roomBytes: room) != nil
        {
            replaced += 1
        }
        #expect(replaced == 1 && !filter.isGivenUp && filter.bytes == room && !filter.contains(hash(1000)))
        #expect(filter.merge(hash(384), registeredAt: 0, tombstonedAt: 1, roomBytes: room) != nil, "to be freed")
        #expect(filter.isGivenUp && filter.bytes == 0 && filter.count == 0 && filter.contains(hash(1000)))
        #expect(filter.merge(hash(385), registeredAt: 0, tombstonedAt: 1, roomBytes: room) == nil)
        _ = filter.merge(hash(1), registeredAt: 9, tombstonedAt: 0)
        filter.forget(hash(2))
        #expect(filter.contains(hash(1)) && filter.contains(hash(2)) && filter.count == 0)
    }

    @Test("Times up to the last second that a word can say are kept")
    func lastSecond() {
        let filter = TombstoneFilter()
        _ = filter.merge(hash(1), registeredAt: .max - 1, tombstonedAt: .max)
        #expect(filter.contains(hash(1)))
        _ = filter.merge(hash(2), registeredAt: 0, tombstonedAt: 1)
        #expect(filter.contains(hash(2)))
    }

    @Test("It grows, and holds what it was told and hardly anything else; what is removed makes room")
    func growth() {
        let filter = TombstoneFilter()
        var replaced = 0
        for number in 0..<100_000 where filter.merge(hash(number), registeredAt: 0, tombstonedAt: 1) != nil {
            replaced += 1
        }
        #expect(replaced > 5)
        #expect(filter.count == 100_000)
        #expect((0..<100_000).allSatisfy { filter.contains(hash($0)) })
        let mistaken = (100_000..<1_100_000).count { filter.contains(hash($0)) }
        #expect(mistaken < 100)
        for number in 0..<100_000 { filter.forget(hash(number)) }
        #expect(filter.count == 0)
        // As large as before at most: what was removed is not kept.
        for number in 200_000..<300_000 { _ = filter.merge(hash(number), registeredAt: 0, tombstonedAt: 1) }
        #expect((0..<100_000).count { filter.contains(hash($0)) } < 100)
        #expect((200_000..<300_000).allSatisfy { filter.contains(hash($0)) })
    }

    @Test("Tombstones that come and go leave room for others, and take no more memory")
    func churn() {
        let filter = TombstoneFilter()
        var replaced = 0
        // Fewer than it has words, more than it fills of them.
        for number in 0..<250 {
            if filter.merge(hash(number), registeredAt: 0, tombstonedAt: 1) != nil { replaced += 1 }
            filter.forget(hash(number))
        }
        #expect(replaced == 1 && filter.bytes == TombstoneFilter.firstBytes && filter.count == 0)
    }

    @Test("Many threads read while one writes, and never miss what was there before they began")
    func concurrent() async {
        let filter = TombstoneFilter()
        for number in 0..<1000 { _ = filter.merge(hash(number), registeredAt: 0, tombstonedAt: 1) }
        let missing = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    (0..<200).reduce(0) { missed, _ in
                        missed
                            + (0..<1000).count { number in
                                !withUnsafeBytes(of: number.littleEndian) { filter.contains(TombstoneFilter.hash($0)) }
                            }
                    }
                }
            }
            group.addTask {
                // Kept to the end, as the contract wants it: readers may be anywhere.
                var tables: [TombstoneFilter.Table] = []
                for number in 1000..<200_000 {
                    let hash = withUnsafeBytes(of: number.littleEndian) { TombstoneFilter.hash($0) }
                    if let old = filter.merge(hash, registeredAt: 0, tombstonedAt: 1) { tables.append(old) }
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
        private var tables: [[TombstoneFilter.Table]] = []

        func append(_ more: [TombstoneFilter.Table]) { tables.append(more) }
    }
}
