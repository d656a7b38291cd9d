/// SHA-1, for one purpose: Redis names a cached script by the SHA-1 of its source. It protects nothing.
///
/// Source: FIPS 180-4, section 6.1.
enum SHA1 {
    /// The digest as 40 lower-case hex digits, the form EVALSHA takes.
    static func hexDigest(_ message: some Collection<UInt8>) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        let padded = pad(message)
        for block in stride(from: 0, to: padded.count, by: 64) {
            compress(padded[block..<(block + 64)], into: &state)
        }
        let digits = Array("0123456789abcdef".utf8)
        return state.flatMap { word in
            stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 0xF)] }
        }
    }

    /// The message, a one bit, zeros, and the length in bits: a whole number of 64-byte blocks.
    private static func pad(_ message: some Collection<UInt8>) -> [UInt8] {
        var padded = Array(message)
        let bits = UInt64(padded.count) * 8
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        return padded
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var schedule = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<(index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            let word = schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16]
            schedule.append(rotateLeft(word, 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (round, word) in schedule.enumerated() {
            let (mixed, constant): (UInt32, UInt32) =
                switch round {
                case 0..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotateLeft(a, 5) &+ mixed &+ e &+ constant &+ word
            (a, b, c, d, e) = (next, a, rotateLeft(b, 30), c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() {
            state[index] &+= value
        }
    }

    private static func rotateLeft(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
