import TestSupport
import Testing

@testable import PipelineCore

@Suite("A dictionary that grows in parts")
struct PartedDictionaryTests {
    @Test("It holds what a dictionary holds after the same changes")
    func changes() {
        var random = SeededGenerator(seed: 1)
        var parted = PartedDictionary<UInt64, Int>()
        var plain: [UInt64: Int] = [:]
        for number in 0..<20_000 {
            let key = random.next() % 500
            switch random.next() % 5 {
            case 0, 1:
                parted[key] = number
                plain[key] = number
            case 2:
                parted[key]? += 1
                plain[key]? += 1
            case 3:
                parted[key] = nil
                plain[key] = nil
            default:
                let removed = parted.removeValue(forKey: key)
                #expect(removed == plain.removeValue(forKey: key))
            }
            #expect(parted.count == plain.count && parted.isEmpty == plain.isEmpty)
            #expect(parted[key] == plain[key])
        }
        #expect(parted.values.sorted() == plain.values.sorted())
    }

    @Test("A thousand entries more never move more than a third of a hundred thousand")
    func growth() {
        var parted = PartedDictionary<UInt64, Int>()
        var most = 0
        for thousand in 0..<120 as Range<UInt64> {
            let before = parted.parts
            for number in 0..<1000 as Range<UInt64> { parted[thousand * 1000 + number] = 0 }
            let moved = zip(before, parted.parts).filter { $0.capacity < $1.capacity }.map(\.0.count)
            most = max(most, moved.reduce(0, +))
        }
        #expect(parted.count == 120_000)
        #expect(most < 33_000, "most entries moved at once")
    }

    @Test("What is of no use leaves a part that is full, and what is of use stays")
    func room() {
        var parted = PartedDictionary<UInt64, UInt64>()
        var looks = 0
        for number in 0..<50_000 as Range<UInt64> {
            parted.makeRoom(for: number) {
                looks += 1
                return $0 + 1000 >= number || $0 % 100 == 0
            }
            parted[number] = number
            #expect(parted.count < 6000)
        }
        for number in 0..<50_000 as Range<UInt64> where number % 100 == 0 || number + 1000 >= 49_999 {
            #expect(parted[number] == number)
        }
        #expect(looks < 5 * 50_000, "looks at entries, by entries")
    }

    @Test("An empty one gives back room for more entries than it is to keep")
    func shrinking() {
        var parted = PartedDictionary<UInt64, Int>()
        for number in 0..<10_000 as Range<UInt64> { parted[number] = 0 }
        for number in 1..<10_000 as Range<UInt64> { parted.removeValue(forKey: number) }
        parted.shrinkIfEmpty(to: 2048)
        #expect(parted[0] == 0 && capacity(parted) >= 10_000, "it is not empty")
        parted.removeValue(forKey: 0)
        parted.shrinkIfEmpty(to: 1 << 20)
        #expect(capacity(parted) >= 10_000)
        parted.shrinkIfEmpty(to: 2048)
        #expect(parted.isEmpty && capacity(parted) == 0)
    }

    private func capacity(_ parted: PartedDictionary<UInt64, Int>) -> Int {
        parted.parts.reduce(0) { $0 + $1.capacity }
    }
}
