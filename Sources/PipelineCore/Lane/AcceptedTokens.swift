/// The tokens that the gateway accepted lately, in bounded memory: a hint, never a proof.
///
/// A token that was accepted before is unlikely to be invalid now. So it need not wait among newcomers when many of
/// those are invalid. A token is known by its CRC-32 alone; another with the same checksum passes for it, which costs a
/// connection at worst. Holds about ``capacity`` tokens, two bytes each; a full bucket forgets its oldest for one more.
public struct AcceptedTokens: ~Copyable {
    /// Tags of 16 bits, the youngest lowest in `recent`; 0: none. Eight, so that a bucket hardly ever overflows while
    /// the others have room.
    private struct Bucket {
        static let ways = 8
        private static let ones: UInt64 = 0x0001_0001_0001_0001
        private static let tops: UInt64 = 0x8000_8000_8000_8000

        var recent: UInt64
        var older: UInt64

        func contains(_ tag: UInt64) -> Bool {
            let wanted = tag &* Self.ones
            return (Self.zeros(recent ^ wanted) | Self.zeros(older ^ wanted)) != 0
        }

        mutating func insert(_ tag: UInt64) {
            older = older << 16 | recent >> 48
            recent = recent << 16 | tag
        }

        mutating func remove(_ tag: UInt64) {
            recent = Self.without(tag, recent)
            older = Self.without(tag, older)
        }

        /// Not 0 if one of the four tags is 0.
        private static func zeros(_ tags: UInt64) -> UInt64 {
            (tags &- ones) & ~tags & tops
        }

        private static func without(_ tag: UInt64, _ tags: UInt64) -> UInt64 {
            stride(from: 0, to: 64, by: 16).reduce(tags) { kept, shift in
                tags >> shift & 0xFFFF == tag ? kept & ~(0xFFFF << shift) : kept
            }
        }
    }

    /// The number of tokens that fit if they spread evenly.
    public var capacity: Int { Bucket.ways << indexBits }

    /// Memory taken.
    public var bytes: Int { Self.bytes(indexBits: indexBits) }

    /// - Parameter indexBits: the logarithm of the number of buckets.
    public static func bytes(indexBits: Int) -> Int { MemoryLayout<Bucket>.stride << indexBits }

    private let buckets: UnsafeMutablePointer<Bucket>
    private let indexBits: Int

    /// - Parameter indexBits: the logarithm of the number of buckets, 1 … 32.
    public init(indexBits: Int = 16) {
        precondition((1...32).contains(indexBits))
        self.indexBits = indexBits
        buckets = .allocate(capacity: 1 << indexBits)
        buckets.initialize(repeating: Bucket(recent: 0, older: 0), count: 1 << indexBits)
    }

    deinit {
        buckets.deallocate()
    }

    public func contains(checksum: UInt32) -> Bool {
        let (index, tag) = place(of: checksum)
        return buckets[index].contains(tag)
    }

    public mutating func insert(checksum: UInt32) {
        let (index, tag) = place(of: checksum)
        if !buckets[index].contains(tag) { buckets[index].insert(tag) }
    }

    /// Takes in the tokens of a part of a lane's log, except those of dropped entries.
    public mutating func insert(_ accepted: Range<UInt64>, of log: borrowing FrameLog) {
        for sequence in accepted {
            let entry = log.entry(at: sequence)
            if !entry.isDropped { insert(checksum: entry.checksum) }
        }
    }

    /// The gateway refused the token after all.
    public mutating func remove(checksum: UInt32) {
        let (index, tag) = place(of: checksum)
        buckets[index].remove(tag)
    }

    private func place(of checksum: UInt32) -> (index: Int, tag: UInt64) {
        let mixed = UInt64(checksum) &* 0x9E37_79B9_7F4A_7C15
        let tag = mixed >> (48 - indexBits) & 0xFFFF
        return (Int(truncatingIfNeeded: mixed >> (64 - indexBits)), max(1, tag))
    }
}
