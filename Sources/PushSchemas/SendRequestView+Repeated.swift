import Glibc

/// Tokens that stand in one request several times.
extension SendRequestView {
    /// Finds the tokens that the request has before, with the same values of their own: each is sent to once.
    ///
    /// A publisher who gives the entries of a token different values means several notifications. [ours] Costs a hash
    /// and a probe or two of a small table for each token, and nothing if there is only one. Values are compared by
    /// their bytes: the same ones that are written otherwise count as different.
    ///
    /// - Returns: by index, whether the token was there before; empty: none was.
    package func findRepeatedTokens() -> [Bool] {
        guard tokenCount > 1 else { return [] }
        var repeated: [Bool] = []
        // At most half full, and indexed by the upper bits of a hash that cannot be foreseen.
        let bits = Int.bitWidth - tokenCount.leadingZeroBitCount + 1
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1 << bits) { slots in
            slots.initialize(repeating: -1)
            for index in 0..<tokenCount {
                let token = self.token(at: index)
                guard token.fault == nil else { continue }
                var slot = Int(truncatingIfNeeded: EntryHash.of(token.entry) >> UInt64(UInt64.bitWidth - bits))
                while slots[slot] >= 0, !token.isSame(as: self.token(at: Int(slots[slot]))) {
                    slot = (slot + 1) & (slots.count - 1)
                }
                guard slots[slot] >= 0 else {
                    slots[slot] = Int32(truncatingIfNeeded: index)
                    continue
                }
                if repeated.isEmpty { repeated = [Bool](repeating: false, count: tokenCount) }
                repeated[index] = true
            }
        }
        return repeated
    }
}

extension TokenView {
    /// All that the request says about the token.
    fileprivate var entry: UnsafeRawBufferPointer { overriding ?? bytes }

    fileprivate func isSame(as other: TokenView) -> Bool {
        let (left, right) = (entry, other.entry)
        guard (overriding == nil) == (other.overriding == nil), left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return left.isEmpty }
        return memcmp(first, second, left.count) == 0
    }
}

/// A keyed hash of bytes, eight at a time: publishers choose the tokens, and must not choose their places in a table.
private enum EntryHash {
    /// Another in each process; the factor is odd.
    private static let seed = UInt64.random(in: .min ... .max)
    private static let factor = UInt64.random(in: .min ... .max) | 1

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let factor = Self.factor
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
        func mix(_ word: UInt64) {
            let product = (hash ^ word).multipliedFullWidth(by: factor)
            hash = product.high ^ product.low
        }
        var offset = 0
        while bytes.count - offset >= 8 {
            mix(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        for index in offset..<bytes.count { mix(UInt64(bytes[index])) }
        return hash
    }
}
