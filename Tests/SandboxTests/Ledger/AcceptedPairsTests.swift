import TestSupport
import Testing

@testable import Sandbox

struct AcceptedPairsTests {
    @Test("Different (token, mark) pairs are counted once, as a set would", arguments: 0..<5 as Range<UInt64>)
    func countsAsASet(seed: UInt64) {
        struct Pair: Hashable {
            let instance: AppInstance
            let mark: UInt32
        }
        var random = SeededGenerator(seed: seed)
        var memory = AcceptedPairs(limit: 1 << 20, expected: seed == 0 ? 0 : 500_000)
        var model = Set<Pair>()
        let edges: [UInt32] = [0, 1, 1 << 31, .max - 1, .max]
        for step in 0..<90_000 {
            let device =
                step.isMultiple(of: 50)
                ? UInt32(SandboxLimits.devices.upperBound) - 1 : .random(in: 0..<20_000, using: &random)
            let mark = step.isMultiple(of: 7) ? edges[step % edges.count] : .random(in: 0..<10, using: &random)
            let generation: UInt8 = step.isMultiple(of: 3) ? 63 : 0
            let pair = Pair(instance: AppInstance(device: device, generation: generation), mark: mark)
            memory.insert(pair.instance, mark: pair.mark)
            model.insert(pair)
        }
        #expect(memory.count == model.count)
        #expect(!memory.isFull)
    }

    @Test("At its limit it keeps what it has, takes nothing new, and says so")
    func limit() {
        var memory = AcceptedPairs(limit: 10)
        for device in 0..<10 as Range<UInt32> { memory.insert(AppInstance(device: device), mark: 0) }
        memory.insert(AppInstance(device: 3), mark: 0)
        #expect(memory.count == 10)
        #expect(!memory.isFull)
        memory.insert(AppInstance(device: 10), mark: 0)
        #expect(memory.count == 10)
        #expect(memory.isFull)
    }

    @Test("The count is exact after every single pair, and so is the limit")
    func exactAtEveryStep() {
        var random = SeededGenerator(seed: 9)
        var memory = AcceptedPairs(limit: 150)
        var model = Set<UInt32>()
        for _ in 0..<600 {
            let mark = UInt32.random(in: 0..<200, using: &random)
            memory.insert(AppInstance(device: 1), mark: mark)
            model.insert(mark)
            #expect(memory.count == min(model.count, 150))
            #expect(memory.isFull == (model.count > 150))
        }
    }
}
