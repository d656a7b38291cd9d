/// The possible tokens of a stretch of a lane's log. A Bloom filter without false negatives.
///
/// The filter is told of tokens that join the stretch at its end, not of those that leave it; once it is full, or the
/// larger part of its tokens has left, it is built anew from the log, as large as the stretch needs: 8 to 512 KiB.
struct LogTokens: ~Copyable {
    /// Logarithms of the least and the most bits. With 2²² one answer in fifty is wrong at 300,000 tokens.
    private static let leastBits = 16
    private static let mostBits = 22
    /// The logarithm of the bits for each token, of which two are set.
    private static let tokenBits = 5
    /// The largest filter is built anew after this many tokens beyond twice the stretch.
    private static let slack = 65_536

    private var indexBits = leastBits
    private var bits = [UInt64](repeating: 0, count: 1 << (leastBits - 6))
    private var told = 0

    var bytes: Int { bits.count * MemoryLayout<UInt64>.stride }

    func mayContain(checksum: UInt32) -> Bool {
        let (first, second) = places(of: checksum)
        return bits[first >> 6] >> (first & 63) & bits[second >> 6] >> (second & 63) & 1 == 1
    }

    mutating func insert(checksum: UInt32) {
        let (first, second) = places(of: checksum)
        bits[first >> 6] |= 1 << (first & 63)
        bits[second >> 6] |= 1 << (second & 63)
        told += 1
    }

    /// Builds the filter anew if it is full, or if the stretch is much shorter than the number of inserted tokens.
    mutating func refresh(from log: borrowing FrameLog, _ stretch: Range<UInt64>) {
        let room = indexBits < Self.mostBits ? 1 << (indexBits - Self.tokenBits) : 2 * stretch.count + Self.slack
        if told > room { remake(from: log, stretch) }
    }

    mutating func remake(from log: borrowing FrameLog, _ stretch: Range<UInt64>) {
        let wanted = Int.bitWidth - (2 * stretch.count << Self.tokenBits).leadingZeroBitCount
        let fitting = min(max(wanted, Self.leastBits), Self.mostBits)
        if fitting != indexBits {
            indexBits = fitting
            bits = [UInt64](repeating: 0, count: 1 << (fitting - 6))
        } else if told > 0 {
            bits.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
        }
        told = 0
        for sequence in stretch { insert(checksum: log.entry(at: sequence).checksum) }
    }

    private func places(of checksum: UInt32) -> (Int, Int) {
        let mixed = UInt64(checksum) &* 0x9E37_79B9_7F4A_7C15
        return (
            Int(truncatingIfNeeded: mixed >> UInt64(64 - indexBits)),
            Int(truncatingIfNeeded: mixed >> UInt64(64 - 2 * indexBits)) & (1 << indexBits - 1)
        )
    }
}
