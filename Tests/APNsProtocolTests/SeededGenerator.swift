/// SplitMix64: the same seed gives the same run on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }
}

extension [UInt8] {
    /// Cut anywhere: single bytes, short pieces, long ones and empty ones.
    func chunked(using generator: inout SeededGenerator) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var rest = self[...]
        while !rest.isEmpty {
            let longest = [0, 1, 3, 12, 60, rest.count].randomElement(using: &generator) ?? 1
            let size = Swift.min(rest.count, Int.random(in: 0...longest, using: &generator))
            chunks.append([UInt8](rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return chunks
    }
}
