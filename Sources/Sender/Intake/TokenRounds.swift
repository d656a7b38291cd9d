/// For each token of a record, how often the same stands before it.
///
/// Nearly always the answer is: never, and it is asked for every record whose tokens get different payloads. So it
/// costs a probe or two of a small table for each token, and no more.
struct TokenRounds {
    /// By position; empty: no token stands there twice.
    private(set) var numbers: [Int] = []
    /// Above every number.
    private(set) var count = 1

    /// - Parameter checksums: by position, CRC-32 of the token; equal ones count as the same token.
    init(checksums: ArraySlice<UInt32>) {
        // At most half full, and indexed by the upper bits of a product that cannot be foreseen (multiply-shift
        // hashing).
        let bits = Int.bitWidth - checksums.count.leadingZeroBitCount + 1
        let shift = UInt64(UInt64.bitWidth - bits)
        let factor = Self.factor
        let first = checksums.startIndex
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1 << bits) { lastPositions in
            lastPositions.initialize(repeating: -1)
            for (index, checksum) in zip(checksums.indices, checksums) {
                var slot = Int((UInt64(checksum) &* factor) >> shift)
                while lastPositions[slot] >= 0, checksums[first + Int(lastPositions[slot])] != checksum {
                    slot = (slot + 1) & (lastPositions.count - 1)
                }
                let position = index - first
                if lastPositions[slot] >= 0 { note(position, after: Int(lastPositions[slot]), of: checksums.count) }
                lastPositions[slot] = Int32(truncatingIfNeeded: position)
            }
        }
    }

    /// Odd, and another in each process.
    private static let factor = UInt64.random(in: .min ... .max) | 1

    private mutating func note(_ position: Int, after last: Int, of total: Int) {
        if numbers.isEmpty { numbers = [Int](repeating: 0, count: total) }
        numbers[position] = numbers[last] + 1
        count = max(count, numbers[position] + 1)
    }

    subscript(position: Int) -> Int { numbers.isEmpty ? 0 : numbers[position] }
}
