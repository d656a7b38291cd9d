/// The possible tokens of a stretch of a lane's log. A Bloom filter without false negatives.
///
/// The filter is told of tokens that join the stretch at its end, not of those that leave it; once the larger part of
/// its tokens has left, it is built anew from the log. 512 KiB.
struct LogTokens: ~Copyable {
    /// 2²² bits, two for each token: one answer in fifty is wrong at 300,000 tokens.
    private static let indexBits = 22
    /// The filter is built anew after this many tokens beyond twice the stretch.
    private static let slack = 65_536

    private var bits = [UInt64](repeating: 0, count: 1 << (indexBits - 6))
    private var told = 0

    func mayContain(checksum: UInt32) -> Bool {
        let (first, second) = Self.places(of: checksum)
        return bits[first >> 6] >> (first & 63) & bits[second >> 6] >> (second & 63) & 1 == 1
    }

    mutating func insert(checksum: UInt32) {
        let (first, second) = Self.places(of: checksum)
        bits[first >> 6] |= 1 << (first & 63)
        bits[second >> 6] |= 1 << (second & 63)
        told += 1
    }

    /// Builds the filter anew if the stretch is much shorter than the number of inserted tokens.
    mutating func refresh(from log: borrowing FrameLog, _ stretch: Range<UInt64>) {
        if told > 2 * stretch.count + Self.slack { remake(from: log, stretch) }
    }

    mutating func remake(from log: borrowing FrameLog, _ stretch: Range<UInt64>) {
        if told > 0 { bits.withUnsafeMutableBufferPointer { $0.update(repeating: 0) } }
        told = 0
        for sequence in stretch { insert(checksum: log.entry(at: sequence).checksum) }
    }

    private static func places(of checksum: UInt32) -> (Int, Int) {
        let mixed = UInt64(checksum) &* 0x9E37_79B9_7F4A_7C15
        return (
            Int(truncatingIfNeeded: mixed >> (64 - indexBits)),
            Int(truncatingIfNeeded: mixed >> (64 - 2 * indexBits)) & (1 << indexBits - 1)
        )
    }
}
