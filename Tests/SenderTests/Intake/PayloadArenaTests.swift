import Testing

@testable import Sender

@Suite struct PayloadArenaTests {
    @Test("A kept payload stays readable at its offset, however often the arena grows")
    func growth() {
        let arena = PayloadArena()
        var kept: [(offset: Int, bytes: [UInt8])] = []
        for number in 0..<2_000 {
            let bytes = (0..<(number * 7 % 257)).map { UInt8(truncatingIfNeeded: number &+ $0) }
            // More is reserved than is kept: stripping white space makes a payload shorter.
            let room = arena.reserve(bytes.count + 40)
            #expect(room.count == bytes.count + 40)
            room.copyBytes(from: bytes)
            kept.append((arena.commit(bytes.count), bytes))
        }
        #expect(kept.last.map { $0.offset } ?? 0 > 3 * 64 * 1024)
        for (offset, bytes) in kept { #expect(Array(arena[offset, bytes.count]) == bytes) }
    }

    @Test("Room that was reserved and not kept is given again")
    func notKept() {
        let arena = PayloadArena()
        _ = arena.reserve(100)
        #expect(arena.commit(0) == 0)
        arena.reserve(3).copyBytes(from: [1, 2, 3])
        #expect(arena.commit(3) == 0)
        arena.reserve(1).copyBytes(from: [4])
        #expect(arena.commit(1) == 3)
        #expect(Array(arena[0, 4]) == [1, 2, 3, 4])
    }

    @Test("A payload that is cut away makes room again")
    func truncation() {
        let arena = PayloadArena()
        for byte in 1...3 as ClosedRange<UInt8> {
            arena.reserve(1).copyBytes(from: [byte])
            _ = arena.commit(1)
        }
        arena.truncate(to: 1)
        arena.reserve(1).copyBytes(from: [9])
        #expect(arena.commit(1) == 1 && arena.end == 2)
        #expect(Array(arena[0, 2]) == [1, 9])
    }

    @Test("One payload may be larger than the arena was")
    func large() {
        let arena = PayloadArena()
        arena.reserve(2).copyBytes(from: [9, 8])
        _ = arena.commit(2)
        let room = arena.reserve(1 << 20)
        room.initializeMemory(as: UInt8.self, repeating: 5)
        #expect(arena.commit(1 << 20) == 2)
        #expect(Array(arena[0, 3]) == [9, 8, 5])
        #expect(arena[2, 1 << 20].allSatisfy { $0 == 5 })
    }
}
