/// The languages of a notification by BCP 47 tag, and the choice of one for a device.
///
/// Number 0 is the default. Case does not matter, and `_` counts as `-`, as some systems write it.
package struct LanguageTable: Sendable {
    /// The longest tag, in bytes: enough for any tag in use by RFC 5646, 4.4.1.
    package static let tagLimitBytes = 35
    /// The most languages beside the default: each is a payload of its own in memory. [ours]
    package static let limit = 256

    /// The bytes that fit into a number.
    private static let packedBytes = 8

    /// Tags of up to eight bytes, packed into a number, ascending, with the number of their language: nearly all in
    /// use. A record may ask for the language of tens of thousands of tokens, hence the order.
    private var shortTags: [UInt64] = []
    private var shortNumbers: [Int] = []
    /// Bit n is set: some of them have n bytes.
    private var shortLengths: UInt16 = 0
    /// Ascending.
    private var longTags: [[UInt8]] = []
    private var longNumbers: [Int] = []

    /// There is only the default.
    package var isEmpty: Bool { shortTags.isEmpty && longTags.isEmpty }

    init() {}

    /// Enters a tag; false: it is there already.
    mutating func insert(_ tag: String, number: Int) -> Bool {
        let tag = tag.utf8.map(Self.folded)
        guard tag.count <= Self.packedBytes else {
            let place = longTags.firstPlace { $0.lexicographicallyPrecedes(tag) }
            guard place == longTags.count || longTags[place] != tag else { return false }
            longTags.insert(tag, at: place)
            longNumbers.insert(number, at: place)
            return true
        }
        let packed = Self.packed(tag[...])
        let place = shortTags.firstPlace { $0 < packed }
        guard place == shortTags.count || shortTags[place] != packed else { return false }
        shortTags.insert(packed, at: place)
        shortNumbers.insert(number, at: place)
        shortLengths |= 1 << tag.count
        return true
    }

    /// The name of the default among localizations: a word, and no language of RFC 5646's registry.
    static func isDefault(_ tag: String) -> Bool { tag.lowercased() == "default" }

    /// The text is formed like a tag: parts of one to eight letters and digits.
    static func isTag(_ text: String) -> Bool {
        guard (1...tagLimitBytes).contains(text.utf8.count) else { return false }
        let parts = text.utf8.map(folded).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            (1...8).contains(part.count)
                && part.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                }
        }
    }

    /// The number of the nearest language for a device: of its whole tag, then of the tag shortened part by part
    /// (RFC 4647, 3.4), then the default. A tag beyond the limit counts as shortened to it already.
    ///
    /// - Parameter locale: the device's tag, not checked; empty: not known.
    package func number(of locale: UnsafeRawBufferPointer) -> Int {
        guard locale.count > Self.packedBytes else { return number(ofShort: locale) }
        // One byte more, to see whether a part ends at the limit.
        let length = min(locale.count, Self.tagLimitBytes + 1)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { tag in
            for index in 0..<length { tag.initializeElement(at: index, to: Self.folded(locale[index])) }
            var end = length
            if length > Self.tagLimitBytes { end = tag.lastIndex(of: UInt8(ascii: "-")) ?? 0 }
            while end > Self.packedBytes {
                let place = longTags.firstPlace { $0.lexicographicallyPrecedes(tag[..<end]) }
                if place < longTags.count, longTags[place].elementsEqual(tag[..<end]) { return longNumbers[place] }
                end = tag[..<end].lastIndex(of: UInt8(ascii: "-")) ?? 0
            }
            return number(ofShort: UnsafeRawBufferPointer(rebasing: locale[..<end]))
        }
    }

    /// The same for a text.
    package func number(of locale: String) -> Int {
        var locale = locale
        return locale.withUTF8 { number(of: UnsafeRawBufferPointer($0)) }
    }

    /// The same for a tag of up to eight bytes.
    private func number(ofShort locale: UnsafeRawBufferPointer) -> Int {
        var packed = Self.packed(locale.lazy.map(Self.folded))
        var length = locale.count
        while length > 0 {
            if shortLengths >> length & 1 == 1 {
                let place = shortTags.firstPlace { $0 < packed }
                if place < shortTags.count, shortTags[place] == packed { return shortNumbers[place] }
            }
            var removed: UInt64
            repeat {
                removed = packed & 0xFF
                packed >>= 8
                length -= 1
            } while length > 0 && removed != UInt64(UInt8(ascii: "-"))
        }
        return 0
    }

    private static func packed(_ tag: some Sequence<UInt8>) -> UInt64 {
        tag.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "_"): UInt8(ascii: "-")
        default: byte
        }
    }
}

extension Array {
    /// The first index of which a condition does not hold, which holds for all before it and for none behind it.
    fileprivate func firstPlace(_ isBefore: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
