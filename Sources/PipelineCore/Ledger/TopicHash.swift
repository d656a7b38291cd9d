/// Names a topic in commit metadata: 40 bits of a hash of bundle ID and environment as the record spells them.
///
/// Two topics with one hash share a cursor, which repeats notifications after a crash or when one of them stops, and
/// loses none; each waits until the other may be fed. A configuration that resolves environments differently changes no
/// hash.
public struct TopicHash: Hashable, Comparable, Sendable {
    /// Below 2⁴⁰.
    public let value: UInt64

    static let bits: UInt64 = 40

    /// Records that become dead letters as a whole: undecodable ones, and those of environments that are not
    /// configured.
    public static let refused = TopicHash(value: 0)
    /// Bundles without a certificate beyond those that have cursors of their own. Never named in commit metadata: they
    /// hold the offset.
    public static let others = TopicHash(value: 1)

    /// - Parameter value: below 2⁴⁰.
    public init(value: UInt64) {
        precondition(value >> Self.bits == 0)
        self.value = value
    }

    /// FNV-1a of environment, a zero byte and bundle ID, folded; never one of the two classes.
    public init(bundleID: UnsafeRawBufferPointer, environment: UnsafeRawBufferPointer) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in environment { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash = hash &* 0x0000_0100_0000_01b3
        for byte in bundleID { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash ^= hash >> 29
        hash = hash &* 0x9E37_79B9_7F4A_7C15
        let folded = hash >> (64 - Self.bits)
        value = folded > Self.others.value ? folded : folded + 2
    }

    public init(bundleID: String, environment: String) {
        self = Array(bundleID.utf8).withUnsafeBytes { bundle in
            Array(environment.utf8).withUnsafeBytes { TopicHash(bundleID: bundle, environment: $0) }
        }
    }

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
