/// Names a topic in commit metadata: 40 bits of a hash of bundle ID and environment as the record spells them.
///
/// Two topics with one hash share a cursor, which repeats notifications after a crash or when one of them stops, and
/// loses none; each waits until the other may be fed. So the hash is keyed by the partition's ``AppSalt``: publishers
/// choose bundle IDs, and could otherwise make one up that waits for a certificate, and has another wait with it. A
/// configuration that resolves environments differently changes no hash: a record that one owner refuses and another
/// sends has the same for both.
public struct AppHash: Hashable, Comparable, Sendable {
    /// Below 2⁴⁰.
    public let value: UInt64

    static let bits: UInt64 = 40

    /// Records that name no topic: they cannot be decoded, and become dead letters.
    public static let refused = AppHash(value: 0)
    /// Bundles without a certificate beyond those that have cursors of their own. Never named in commit metadata: they
    /// hold the offset.
    public static let others = AppHash(value: 1)
    /// Values of no topic: marks of commit metadata, one for each edition of the decoder.
    static let marks = (1 << bits - 256)..<UInt64(1 << bits)

    /// The mark of commits by owners with an edition of the decoder.
    static func mark(_ edition: UInt8) -> AppHash { AppHash(value: marks.lowerBound + UInt64(edition)) }

    var isMark: Bool { Self.marks.contains(value) }
    /// Of a mark.
    var edition: UInt8 { UInt8(truncatingIfNeeded: value) }

    /// - Parameter value: below 2⁴⁰.
    public init(value: UInt64) {
        precondition(value >> Self.bits == 0)
        self.value = value
    }

    /// The hash of a topic's name; never one of the two classes nor a mark.
    public init(bundleID: UnsafeRawBufferPointer, environment: UnsafeRawBufferPointer, salt: AppSalt) {
        let folded = salt == .none ? Self.unkeyed(bundleID, environment) : salt.digest(bundleID, environment)
        let free = folded > Self.others.value ? folded : folded + 2
        value = free < Self.marks.lowerBound ? free : free - UInt64(Self.marks.count)
    }

    /// FNV-1a of environment, a zero byte and bundle ID, folded.
    private static func unkeyed(_ bundleID: UnsafeRawBufferPointer, _ environment: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in environment { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash = hash &* 0x0000_0100_0000_01b3
        for byte in bundleID { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash ^= hash >> 29
        hash = hash &* 0x9E37_79B9_7F4A_7C15
        return hash >> (64 - bits)
    }

    /// - Parameter salt: of the partition whose commits name the topic by it.
    public init(bundleID: String, environment: String, salt: AppSalt = .none) {
        self = Array(bundleID.utf8).withUnsafeBytes { bundle in
            Array(environment.utf8).withUnsafeBytes { AppHash(bundleID: bundle, environment: $0, salt: salt) }
        }
    }

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// The key of the topics' hashes in one partition. It lies in the commit metadata, beside the hashes: a reader of the
/// partition next reads both, and publishers read neither.
public struct AppSalt: Hashable, Sendable {
    /// Any but 0 is a key.
    public let value: UInt64

    /// The hashes of earlier versions of this program, which have no key: with the rule alone topics can be found with
    /// one hash. Kept only while a commit names topics by them.
    public static let none = AppSalt(0)

    public init(_ value: UInt64) { self.value = value }

    /// 40 bits of SipHash under the salt: of the environment's digest and the bundle ID.
    fileprivate func digest(_ bundleID: UnsafeRawBufferPointer, _ environment: UnsafeRawBufferPointer) -> UInt64 {
        let place = SipHash(of: environment, key: SipHash(low: value, high: Self.version1))
        return SipHash.word(of: bundleID, key: place) >> (64 - AppHash.bits)
    }

    private static let version1: UInt64 = 0x3120_6369_706F_7420
}
