import Synchronization

/// Which tokens of one bundle are dead, from memory and in a few nanoseconds: an open-addressed table of one word a tombstone.
///
/// It may call a token dead that is not (a word has 38 bits of the token's hash, so with ten million tombstones one living
/// token in about ten thousand; and one that registered within about a minute of its tombstone), never one alive whose
/// tombstone it was told of; only a dead token that shares those bits with another is forgotten when that one comes back. So
/// whoever finds a token here asks Redis, and whoever does not need not.
///
/// It takes 11 to 22 bytes a tombstone, and 32 while it grows. One that may not grow is given up: it calls every token dead
/// from then on, and takes nothing.
///
/// Records of a token are merged by maximum: a tombstone stays until a registration at or after it. One thread writes, any number
/// reads at the same time without waiting.
final class TombstoneFilter: Sendable {
    /// A word: hash in the upper 38 bits, never 0; in the lower 26 when the token died, in units of 64 seconds, rounded up. 0
    /// in the lower bits: the tombstone was removed. The whole word 0: never used.
    private static let timeBits: UInt64 = 26
    private static let timeMask: UInt64 = (1 << 26) - 1
    private static let unitSeconds: UInt64 = 64
    private static let firstWords = 256
    /// What an empty one takes.
    static let firstBytes = firstWords * MemoryLayout<UInt64>.stride

    /// The words of a filter at one size. Freed when nobody refers to it any more.
    final class Table: @unchecked Sendable {
        fileprivate let words: UnsafeMutablePointer<Atomic<UInt64>>
        fileprivate let mask: Int

        fileprivate init(words count: Int) {
            precondition(count.nonzeroBitCount == 1)
            words = .allocate(capacity: count)
            for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
            mask = count - 1
        }

        var bytes: Int { (mask + 1) * MemoryLayout<UInt64>.stride }

        deinit {
            words.deinitialize(count: mask + 1)
            words.deallocate()
        }
    }

    /// The present ``Table``, unmanaged: readers must not pay for counting references. 0: given up.
    private let present: Atomic<UInt>
    /// Written by the writer alone; atomic so that metrics may read it.
    private let entries = Atomic<Int>(0)
    /// Words that are not 0; the writer's alone.
    private let used = Atomic<Int>(0)

    init() {
        let table = Table(words: Self.firstWords)
        present = Atomic(UInt(bitPattern: Unmanaged.passRetained(table).toOpaque()))
    }

    deinit {
        Self.table(present.load(ordering: .acquiring))?.release()
    }

    /// Tombstones held.
    var count: Int { entries.load(ordering: .relaxed) }

    /// What it takes. The writer's thread.
    var bytes: Int { Self.table(present.load(ordering: .relaxed))?._withUnsafeGuaranteedRef { $0.bytes } ?? 0 }

    /// Whether it calls every token dead, since it might not grow. Any thread.
    var isGivenUp: Bool { present.load(ordering: .relaxed) == 0 }

    /// What stands for a token: 64 well mixed bits.
    static func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: token.count) &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        while index &+ 8 <= token.count {
            hash = mixed(hash ^ token.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian)
            index &+= 8
        }
        var last: UInt64 = 0
        while index < token.count {
            last = last << 8 | UInt64(token[index])
            index &+= 1
        }
        return mixed(hash ^ last)
    }

    /// What a filter holds now, for a run of questions: none of them counts a reference, so that they may wait for memory together.
    /// Valid until its thread goes back to its event loop.
    struct Contents {
        /// Nil: every token is called dead.
        fileprivate let words: UnsafeMutablePointer<Atomic<UInt64>>?
        fileprivate let mask: Int

        /// Those of a filter that was given up.
        static var everyToken: Contents { Contents(words: nil, mask: 0) }

        /// Whether a token may be dead.
        ///
        /// - Parameter hash: see ``TombstoneFilter/hash(_:)``.
        @inline(__always)
        func contains(_ hash: UInt64) -> Bool { contains(probe(hash)) }

        /// The first word that a question meets. Several are best fetched before any is asked about: the answer branches on the
        /// word, so that each would wait for memory on its own.
        struct Probe {
            fileprivate var hash: UInt64
            fileprivate var word: UInt64
        }

        /// - Parameter hash: see ``TombstoneFilter/hash(_:)``.
        @inline(__always)
        func probe(_ hash: UInt64) -> Probe {
            guard let words else { return Probe(hash: hash, word: 0) }
            let place = TombstoneFilter.home(TombstoneFilter.key(hash), mask: mask)
            return Probe(hash: hash, word: words[place].load(ordering: .relaxed))
        }

        /// Whether the token of a probe may be dead.
        @inline(__always)
        func contains(_ probe: Probe) -> Bool {
            guard let words else { return true }
            let key = TombstoneFilter.key(probe.hash)
            var index = TombstoneFilter.home(key, mask: mask)
            var word = probe.word
            while true {
                if word == 0 { return false }
                if word & ~TombstoneFilter.timeMask == key { return word & TombstoneFilter.timeMask != 0 }
                index = (index &+ 1) & mask
                word = words[index].load(ordering: .relaxed)
            }
        }
    }

    /// See ``Contents``. Any thread.
    var contents: Contents {
        guard let table = Self.table(present.load(ordering: .acquiring)) else { return .everyToken }
        return table._withUnsafeGuaranteedRef { Contents(words: $0.words, mask: $0.mask) }
    }

    /// Whether a token may be dead. Any thread.
    ///
    /// - Parameter hash: see ``hash(_:)``.
    func contains(_ hash: UInt64) -> Bool { contents.contains(hash) }

    /// Merges what is known of a token. The writer's thread.
    ///
    /// - Parameters:
    ///   - registeredAt: UNIX seconds of its last registration; 0: none is known.
    ///   - tombstonedAt: UNIX seconds at which it was found dead; 0: it was not.
    ///   - roomBytes: what another table may take beside the present one; if it would take more the filter is given up.
    /// - Returns: a table that has been replaced, or given up. It must be kept until no reader can still be inside
    ///   ``contains(_:)``.
    func merge(_ hash: UInt64, registeredAt: UInt32, tombstonedAt: UInt32, roomBytes: Int = .max) -> Table? {
        guard let table = Self.table(present.load(ordering: .relaxed))?.takeUnretainedValue() else { return nil }
        if tombstonedAt > registeredAt {
            let time = (UInt64(tombstonedAt) + Self.unitSeconds - 1) / Self.unitSeconds
            return insert(hash, time: min(time, Self.timeMask), into: table, roomBytes: roomBytes)
        }
        // Everything in a word's unit is at or before its end.
        let outlived = UInt64(registeredAt) / Self.unitSeconds
        remove(hash, from: table) { $0 <= outlived }
        return nil
    }

    /// Nothing is known of a token any more. The writer's thread.
    func forget(_ hash: UInt64) {
        guard let table = Self.table(present.load(ordering: .relaxed))?.takeUnretainedValue() else { return }
        remove(hash, from: table) { _ in true }
    }

    // MARK: The writer

    private func insert(_ hash: UInt64, time: UInt64, into table: Table, roomBytes: Int) -> Table? {
        let key = Self.key(hash)
        var index = Self.home(key, mask: table.mask)
        while true {
            let word = table.words[index].load(ordering: .relaxed)
            if word == 0 {
                table.words[index].store(key | time, ordering: .relaxed)
                entries.add(1, ordering: .relaxed)
                used.add(1, ordering: .relaxed)
                return used.load(ordering: .relaxed) * 4 > (table.mask + 1) * 3 ? grow(table, roomBytes) : nil
            }
            if word & ~Self.timeMask == key {
                let known = word & Self.timeMask
                if known == 0 { entries.add(1, ordering: .relaxed) }
                table.words[index].store(key | max(known, time), ordering: .relaxed)
                return nil
            }
            index = (index + 1) & table.mask
        }
    }

    private func remove(_ hash: UInt64, from table: Table, where isOutlived: (_ time: UInt64) -> Bool) {
        let key = Self.key(hash)
        var index = Self.home(key, mask: table.mask)
        while true {
            let word = table.words[index].load(ordering: .relaxed)
            if word == 0 { return }
            if word & ~Self.timeMask == key {
                guard word & Self.timeMask != 0, isOutlived(word & Self.timeMask) else { return }
                table.words[index].store(key, ordering: .relaxed)
                entries.subtract(1, ordering: .relaxed)
                return
            }
            index = (index + 1) & table.mask
        }
    }

    /// Twice the room, or the same if it was full of what was removed; none at all if that is too much.
    private func grow(_ old: Table, _ roomBytes: Int) -> Table {
        let size = count * 2 > old.mask + 1 ? (old.mask + 1) * 2 : old.mask + 1
        guard size * MemoryLayout<UInt64>.stride <= roomBytes else {
            entries.store(0, ordering: .relaxed)
            used.store(0, ordering: .relaxed)
            return replace(old, by: nil)
        }
        let table = Table(words: size)
        var used = 0
        for index in 0...old.mask {
            let word = old.words[index].load(ordering: .relaxed)
            guard word & Self.timeMask != 0 else { continue }
            var place = Self.home(word & ~Self.timeMask, mask: table.mask)
            while table.words[place].load(ordering: .relaxed) != 0 { place = (place + 1) & table.mask }
            table.words[place].store(word, ordering: .relaxed)
            used += 1
        }
        self.used.store(used, ordering: .relaxed)
        return replace(old, by: table)
    }

    /// Returns `old`, which is the caller's from now on.
    private func replace(_ old: Table, by new: Table?) -> Table {
        let bits = new.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) } ?? 0
        present.store(bits, ordering: .releasing)
        return Unmanaged.passUnretained(old).takeRetainedValue()
    }

    @inline(__always)
    private static func table(_ bits: UInt) -> Unmanaged<Table>? {
        UnsafeRawPointer(bitPattern: bits).map(Unmanaged<Table>.fromOpaque)
    }

    private static func key(_ hash: UInt64) -> UInt64 {
        let key = hash & ~timeMask
        return key == 0 ? 1 << timeBits : key
    }

    private static func home(_ key: UInt64, mask: Int) -> Int {
        Int(truncatingIfNeeded: key >> timeBits) & mask
    }

    @inline(__always)
    private static func mixed(_ word: UInt64) -> UInt64 {
        let product = word.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low &+ 0x9E37_79B9_7F4A_7C15
    }
}
