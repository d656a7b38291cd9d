/// Chooses the lane of a topic that carries a token.
///
/// A lane has one connection at a time and settles or resends in order, so a token that never changes its lane keeps
/// its order through every failure. The choice depends on the token alone; the number of lanes is fixed for the life of
/// a shard.
public struct TokenAffinity: Equatable, Sendable {
    public let lanes: Int

    public init(lanes: Int) {
        precondition(lanes >= 1)
        self.lanes = lanes
    }

    /// The lane of a token, `0 ..< lanes`.
    ///
    /// - Parameter checksum: CRC-32 of the token. The bits are mixed first: the tokens of one partition already share
    ///   their CRC-32 modulo the spread of their bundle, and would otherwise crowd into a few lanes.
    @inlinable
    public func lane(checksum: UInt32) -> Int {
        let mixed = (UInt64(checksum) &* 0x9E37_79B9_7F4A_7C15) >> 32
        return Int(truncatingIfNeeded: (mixed &* UInt64(lanes)) >> 32)
    }
}
