/// A bit per notification; grows by itself.
package struct Bitset: Sendable {
    private var words: [UInt64] = []
    /// Bits that are set.
    package private(set) var count = 0

    package init() {}

    package subscript(bit: Int) -> Bool {
        bit >> 6 < words.count && words[bit >> 6] & 1 << UInt64(bit & 63) != 0
    }

    /// Returns whether it was not set before.
    @discardableResult
    package mutating func insert(_ bit: Int) -> Bool {
        let word = bit >> 6
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: max(1024, word + 1 - words.count))) }
        let mask = UInt64(1) << UInt64(bit & 63)
        guard words[word] & mask == 0 else { return false }
        words[word] |= mask
        count += 1
        return true
    }

    /// Bits that are set here and not in `other`.
    package func subtracting(_ other: Bitset) -> Int {
        words.enumerated().reduce(0) { sum, pair in
            sum + (pair.element & ~(pair.offset < other.words.count ? other.words[pair.offset] : 0)).nonzeroBitCount
        }
    }

    package func union(_ other: Bitset) -> Bitset {
        var union = self
        for (word, bits) in other.words.enumerated() {
            if word >= union.words.count { union.words.append(0) }
            union.count += (bits & ~union.words[word]).nonzeroBitCount
            union.words[word] |= bits
        }
        return union
    }
}
