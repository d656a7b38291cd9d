import TestSupport
import Testing

@testable import PipelineCore

@Suite struct RefusedTokensTests {
    private func token(_ number: UInt8) -> [UInt8] { [number, 1, 2, 3] }

    @Test("A token is known from its refusal until its tombstone is written and the batches before have gone through")
    func life() {
        var tokens = RefusedTokens()
        tokens.insert(token(1), checksum: 1, refusedAt: 100)
        tokens.passed(batch: 50)
        #expect(tokens.has(token(1), 1), "not before its tombstone is written")
        tokens.written(token(1), checksum: 1, through: 52)
        tokens.passed(batch: 51)
        #expect(tokens.has(token(1), 1))
        tokens.passed(batch: 52)
        #expect(!tokens.has(token(1), 1))
        #expect(tokens.isEmpty)
    }

    @Test("When every batch has gone through already, the tombstone ends it")
    func nothingWaits() {
        var tokens = RefusedTokens()
        tokens.passed(batch: 7)
        tokens.insert(token(1), checksum: 1, refusedAt: 100)
        tokens.written(token(1), checksum: 1, through: 7)
        #expect(tokens.isEmpty)
    }

    @Test("A registration at or after the refusal ends it, an older one does not")
    func registration() {
        var tokens = RefusedTokens()
        tokens.insert(token(1), checksum: 1, refusedAt: 100)
        tokens.registers(token(1), 1, at: 99)
        #expect(tokens.has(token(1), 1))
        tokens.registers(token(1), 1, at: 100)
        #expect(!tokens.has(token(1), 1))
    }

    @Test("A refusal that is not believed ends it")
    func forgiven() {
        var tokens = RefusedTokens()
        tokens.insert(token(1), checksum: 1, refusedAt: 100)
        tokens.insert(token(2), checksum: 1, refusedAt: 100)
        tokens.remove(token(1), checksum: 1)
        #expect(!tokens.has(token(1), 1) && tokens.has(token(2), 1))
    }

    @Test("Tokens that share a checksum are told apart")
    func collisions() {
        var tokens = RefusedTokens()
        tokens.insert(token(1), checksum: 9, refusedAt: 100)
        #expect(!tokens.has(token(2), 9))
        tokens.insert(token(2), checksum: 9, refusedAt: 100)
        tokens.registers(token(1), 9, at: 200)
        #expect(!tokens.has(token(1), 9) && tokens.has(token(2), 9))
    }

    @Test("A token refused again outlives the tombstone of its first refusal")
    func again() {
        var tokens = RefusedTokens()
        tokens.insert(token(1), checksum: 1, refusedAt: 100)
        tokens.written(token(1), checksum: 1, through: 5)
        tokens.insert(token(1), checksum: 1, refusedAt: 101)
        #expect(tokens.count == 1)
        tokens.passed(batch: 5)
        #expect(tokens.has(token(1), 1))
    }

    @Test(
        "It never holds more than its limit, forgets the oldest first, and else what a list would say",
        arguments: trials(40)
    )
    func againstList(seed: UInt64) {
        struct Known {
            var token: UInt8
            var refusedAt: UInt32
            var leavesAfter: UInt64?
        }
        var random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...20, using: &random)
        var tokens = RefusedTokens(limit: limit)
        var list: [Known] = []
        var taken: UInt64 = 0
        var passed: UInt64 = 0
        for step in 0..<3000 as Range<UInt32> {
            let number = UInt8.random(in: 0..<40, using: &random)
            // Few checksums for many tokens.
            let checksum = UInt32(number % 5)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                tokens.insert(token(number), checksum: checksum, refusedAt: step)
                list.removeAll { $0.token == number }
                if list.count == limit { list.removeFirst() }
                list.append(Known(token: number, refusedAt: step))
            case 3..<5:
                tokens.written(token(number), checksum: checksum, through: taken)
                if let index = list.firstIndex(where: { $0.token == number }) {
                    list[index].leavesAfter = min(list[index].leavesAfter ?? taken, taken)
                }
            case 5..<7:
                taken += 1
            case 7:
                passed = .random(in: passed...taken, using: &random)
                tokens.passed(batch: passed)
            default:
                let at = UInt32.random(in: 0...(step + 10), using: &random)
                tokens.registers(token(number), checksum, at: at)
                list.removeAll { $0.token == number && $0.refusedAt <= at }
            }
            list.removeAll { $0.leavesAfter.map { $0 <= passed } ?? false }
            let count = tokens.count
            #expect(count == list.count)
            for other in 0..<40 as Range<UInt8> {
                #expect(tokens.has(token(other), UInt32(other % 5)) == list.contains { $0.token == other })
            }
        }
    }
}

extension RefusedTokens {
    fileprivate func has(_ token: [UInt8], _ checksum: UInt32) -> Bool {
        token.withUnsafeBytes { contains($0, checksum: checksum) }
    }

    fileprivate mutating func registers(_ token: [UInt8], _ checksum: UInt32, at seconds: UInt32) {
        token.withUnsafeBytes { registered($0, checksum: checksum, at: seconds) }
    }
}
