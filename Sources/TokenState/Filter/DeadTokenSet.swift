import Synchronization

/// The dead tokens of one bundle, looked up in memory within a few nanoseconds. An open-addressed table of one word a
/// tombstone.
///
/// The set may call a living token dead: a word has 38 bits of the token's hash, so with ten million tombstones that
/// is one living token in about ten thousand; and it holds for one that registered within about a minute of its
/// tombstone. It never calls a token alive whose tombstone it received, with one exception: a dead token that shares
/// those bits with another is forgotten when that one comes back. So a token found here is looked up in Redis, and one
/// not found need not be.
///
/// It takes 11 to 22 bytes a tombstone, and 32 while it grows. A set that must not grow is given up: it calls every
/// token dead from then on, and takes no memory.
///
/// Records of a token are merged by maximum: a tombstone stays until a registration at or after it. One thread writes,
/// any number reads at the same time without waiting.
package final class DeadTokenSet: Sendable {
    /// Bits of the time of death in a word, the lower 26; the hash has the upper 38, and is never 0. The time is in
    /// units of 64 seconds, rounded up. Lower bits 0: the tombstone was removed. The whole word 0: never used.
    private static let timeBits: UInt64 = 26
    private static let timeMask: UInt64 = (1 << 26) - 1
    private static let unitSeconds: UInt64 = 64
    private static let firstWords = 256
    /// Bytes of an empty set.
    static let firstBytes = firstWords * MemoryLayout<UInt64>.stride

    /// The words of a set at one size. Freed with the last reference.
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
    /// Words that are not 0; for the writer alone.
    private let used = Atomic<Int>(0)

    init() {
        let table = Table(words: Self.firstWords)
        present = Atomic(UInt(bitPattern: Unmanaged.passRetained(table).toOpaque()))
    }

    deinit {
        Self.table(present.load(ordering: .acquiring))?.release()
    }

    /// The number of tombstones held.
    var count: Int { entries.load(ordering: .relaxed) }

    /// Bytes of memory. The writer's thread.
    var bytes: Int { Self.table(present.load(ordering: .relaxed))?._withUnsafeGuaranteedRef { $0.bytes } ?? 0 }

    /// The set calls every token dead, because it must not grow. Any thread.
    var isGivenUp: Bool { present.load(ordering: .relaxed) == 0 }

    /// The hash of a token: 64 well mixed bits.
    package static func hash(_ token: UnsafeRawBufferPointer) -> UInt64 {
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

    /// The present contents of a set, for a run of questions. No question counts a reference, so that they may wait
    /// for memory together. Valid until the thread returns to its event loop.
    package struct Contents {
        /// Nil: every token is called dead.
        fileprivate let words: UnsafeMutablePointer<Atomic<UInt64>>?
        fileprivate let mask: Int

        /// The contents of a set that was given up.
        package static var everyToken: Contents { Contents(words: nil, mask: 0) }

        /// A token may be dead.
        ///
        /// - Parameter hash: see ``DeadTokenSet/hash(_:)``.
        @inline(__always)
        func contains(_ hash: UInt64) -> Bool { contains(probe(hash)) }

        /// The first word of a question. Several are best fetched before the first is answered: the answer branches on
        /// the word, so that each would otherwise wait for memory on its own.
        package struct Probe {
            fileprivate var hash: UInt64
            fileprivate var word: UInt64
        }

        /// - Parameter hash: see ``DeadTokenSet/hash(_:)``.
        @inline(__always)
        package func probe(_ hash: UInt64) -> Probe {
            guard let words else { return Probe(hash: hash, word: 0) }
            let place = DeadTokenSet.home(DeadTokenSet.key(hash), mask: mask)
            return Probe(hash: hash, word: words[place].load(ordering: .relaxed))
        }

        /// The token of a probe may be dead.
        @inline(__always)
        package func contains(_ probe: Probe) -> Bool {
            guard let words else { return true }
            let key = DeadTokenSet.key(probe.hash)
            var index = DeadTokenSet.home(key, mask: mask)
            var word = probe.word
            while true {
                if word == 0 { return false }
                if word & ~DeadTokenSet.timeMask == key { return word & DeadTokenSet.timeMask != 0 }
                index = (index &+ 1) & mask
                word = words[index].load(ordering: .relaxed)
            }
        }
    }

    /// See ``Contents``. Any thread.
    package var contents: Contents {
        guard let table = Self.table(present.load(ordering: .acquiring)) else { return .everyToken }
        return table._withUnsafeGuaranteedRef { Contents(words: $0.words, mask: $0.mask) }
    }

    /// A token may be dead. Any thread.
    ///
    /// - Parameter hash: see ``hash(_:)``.
    func contains(_ hash: UInt64) -> Bool { contents.contains(hash) }

    /// Merges a token's timestamps. The writer's thread.
    ///
    /// - Parameters:
    ///   - registeredAt: UNIX seconds of its last registration; 0: none is known.
    ///   - tombstonedAt: UNIX seconds of its tombstone; 0: none.
    ///   - roomBytes: most bytes of another table beside the present one; if it would take more the set is given up.
    /// - Returns: a table that was replaced, or given up. It must be kept until no reader can still be inside
    ///   ``contains(_:)``.
    func merge(_ hash: UInt64, registeredAt: UInt32, tombstonedAt: UInt32, roomBytes: Int = .max) -> Table? {
        guard let table = Self.table(present.load(ordering: .relaxed))?.takeUnretainedValue() else { return nil }
        if tombstonedAt > registeredAt {
            let time = (UInt64(tombstonedAt) + Self.unitSeconds - 1) / Self.unitSeconds
            return insert(hash, time: min(time, Self.timeMask), into: table, roomBytes: roomBytes)
        }
        // Every time in a word's unit is at or before the unit's end.
        let outlived = UInt64(registeredAt) / Self.unitSeconds
        remove(hash, from: table) { $0 <= outlived }
        return nil
    }

    /// Forgets a token. The writer's thread.
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

    /// Makes a table of twice the size, or of the same if it was full of removed ones. None at all if that is too much.
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

    /// Puts `new` in place; returns `old`, which is the caller's from now on.
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
