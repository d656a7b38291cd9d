import SeededNumbers
import Testing

@testable import Sender

@Suite struct TokenRoundsTests {
    @Test("Tokens that all differ are in one round")
    func differing() {
        for count in [0, 1, 2, 3, 500, 4096] {
            let rounds = TokenRounds(checksums: (0..<UInt32(count)).map { $0 &* 0x1000_0000 | $0 }[...])
            #expect(rounds.numbers.isEmpty && rounds.count == 1)
            #expect((0..<count).allSatisfy { rounds[$0] == 0 })
        }
    }

    @Test("A token's number says how often the same stands before it, wherever the slice begins")
    func repeated() {
        let checksums: [UInt32] = [7, 9, 5, 5, 0, 5, 0, .max, 5, .max]
        let rounds = TokenRounds(checksums: checksums[2...])
        #expect(rounds.numbers == [0, 1, 0, 2, 1, 0, 3, 1] && rounds.count == 4)
    }

    @Test("The numbers are those of plain counting", arguments: 0..<20 as Range<UInt64>)
    func property(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let kinds = UInt32.random(in: 1...600, using: &random)
        let checksums = (0..<500).map { _ in UInt32.random(in: 0..<kinds, using: &random) << 20 }
        let rounds = TokenRounds(checksums: checksums[...])
        var seen: [UInt32: Int] = [:]
        for (position, checksum) in checksums.enumerated() {
            #expect(rounds[position] == seen[checksum, default: 0])
            seen[checksum, default: 0] += 1
        }
        #expect(rounds.count == seen.values.max())
    }
}
