/// Finds the oldest notification of a token in a queue, by the token's CRC-32.
///
/// The first of each chain stands in a table of buckets; the others hang on it. Tokens with the same checksum share a
/// chain: one waits for the other, which costs time and nothing else.
struct TokenChains: ~Copyable {
    private var buckets: UnsafeMutablePointer<Int32>
    private var bits: Int

    /// - Parameter capacity: the slots of the queue, a power of two.
    init(capacity: Int) {
        bits = capacity.trailingZeroBitCount
        buckets = .allocate(capacity: capacity)
        buckets.initialize(repeating: StreamEntry.none, count: capacity)
    }

    deinit {
        buckets.deallocate()
    }

    /// The oldest of a token.
    func first(_ checksum: UInt32, in slab: borrowing StreamSlab) -> Int? {
        var link = buckets[place(of: checksum)]
        while link != StreamEntry.none {
            if slab.entries[Int(link)].checksum == checksum { return Int(link) }
            link = slab.entries[Int(link)].bucketNext
        }
        return nil
    }

    /// Appends a new entry to the chain of its token.
    mutating func append(_ slot: Int, in slab: borrowing StreamSlab) {
        if slab.capacity > 1 << bits { grow(slab) }
        let entries = slab.entries
        let link = Int32(truncatingIfNeeded: slot)
        guard let first = first(entries[slot].checksum, in: slab) else {
            entries[slot].older = StreamEntry.none
            entries[slot].newest = link
            return enter(slot, entries)
        }
        entries[slot].older = entries[first].newest
        entries[Int(entries[first].newest)].newer = link
        entries[first].newest = link
    }

    /// Takes an entry out of its chain.
    ///
    /// - Returns: the slot that is now the oldest of its token; nil: none, or another was before.
    mutating func remove(_ slot: Int, in slab: borrowing StreamSlab) -> Int? {
        let entries = slab.entries
        let (older, newer) = (entries[slot].older, entries[slot].newer)
        guard older == StreamEntry.none else {
            entries[Int(older)].newer = newer
            if newer != StreamEntry.none {
                entries[Int(newer)].older = older
            } else if let first = first(entries[slot].checksum, in: slab) {
                entries[first].newest = older
            }
            return nil
        }
        leave(slot, entries)
        guard newer != StreamEntry.none else { return nil }
        let heir = Int(newer)
        entries[heir].older = StreamEntry.none
        entries[heir].newest = entries[slot].newest
        enter(heir, entries)
        return heir
    }

    // MARK: Buckets

    /// The upper bits of a product: checksums of one partition may agree in their lower ones.
    private func place(of checksum: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(checksum) &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - bits))
    }

    private func enter(_ slot: Int, _ entries: UnsafeMutablePointer<StreamEntry>) {
        let place = place(of: entries[slot].checksum)
        entries[slot].bucketNext = buckets[place]
        buckets[place] = Int32(truncatingIfNeeded: slot)
    }

    private func leave(_ slot: Int, _ entries: UnsafeMutablePointer<StreamEntry>) {
        let place = place(of: entries[slot].checksum)
        let next = entries[slot].bucketNext
        var link = Int(buckets[place])
        guard link != slot else {
            buckets[place] = next
            return
        }
        while Int(entries[link].bucketNext) != slot { link = Int(entries[link].bucketNext) }
        entries[link].bucketNext = next
    }

    /// Makes as many buckets as there are slots.
    private mutating func grow(_ slab: borrowing StreamSlab) {
        let former = UnsafeMutableBufferPointer(start: buckets, count: 1 << bits)
        bits = slab.capacity.trailingZeroBitCount
        buckets = .allocate(capacity: slab.capacity)
        buckets.initialize(repeating: StreamEntry.none, count: slab.capacity)
        for bucket in former {
            var link = bucket
            while link != StreamEntry.none {
                let slot = Int(link)
                link = slab.entries[slot].bucketNext
                enter(slot, slab.entries)
            }
        }
        former.deallocate()
    }
}
