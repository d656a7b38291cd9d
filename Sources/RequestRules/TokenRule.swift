import PushSchemas

/// The rules for one token of a request. The worker asks for every token.
package struct TokenRule: Sendable, Equatable {
    /// Lengths in bytes that the gateway takes.
    package let lengths: ClosedRange<Int>
    /// Number of keys that the bundle is spread over; 1: not spread, nil: not known, so shards are not checked.
    package let spread: UInt32?

    package init(lengths: ClosedRange<Int>, spread: UInt32?) {
        self.lengths = lengths
        self.spread = spread
    }

    /// The fault of one token of a request; nil: the token can be used.
    ///
    /// - Parameters:
    ///   - checksum: CRC-32 of the token; asked for if shards are checked.
    ///   - shard: the shard that the record's key names.
    @inlinable
    package func fault(
        of token: TokenView,
        checksum: @autoclosure () -> UInt32,
        shard: UInt32?
    ) -> TokenFault? {
        if let fault = token.fault { return TokenFault(.malformed(fault), by: self) }
        let count = token.bytes.count
        guard lengths.contains(count) else { return TokenFault(.length(bytes: count), by: self) }
        return shardFault(of: "token", checksum: checksum(), shard: shard)
    }

    /// The fault of a token or channel that does not belong under its record's key; nil: it does.
    ///
    /// - Parameter name: of what it is, for people.
    @inlinable
    package func shardFault(
        of name: StaticString,
        checksum: @autoclosure () -> UInt32,
        shard: UInt32?
    ) -> TokenFault? {
        guard let spread else { return nil }
        let expected = spread > 1 ? checksum() % spread : nil
        return shard == expected ? nil : TokenFault(.outsideShard(name: name, expected: expected), by: self)
    }
}
