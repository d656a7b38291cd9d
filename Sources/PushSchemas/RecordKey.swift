/// The key of a record: `<bundle ID>`, or `<bundle ID>#<shard>` when the bundle is spread over several keys.
///
/// The key alone decides the partition and so the order: all requests for one token must keep one key. [ours]
public struct RecordKey: Hashable, Sendable, CustomStringConvertible {
    /// The bundle ID: 1...255 of the characters `A-Z a-z 0-9 . - _`.
    public let bundleID: String

    /// The shard, if the key names one.
    public let shard: UInt32?

    /// The key of `bundleID`, and of one of its shards if `shard` is given.
    ///
    /// Throws `bundleInvalid` or `keyWithoutBundle`.
    public init(bundleID: String, shard: UInt32? = nil) throws(RecordError) {
        var bundleID = bundleID
        bundleID.makeContiguousUTF8()
        let error = bundleID.utf8.withContiguousStorageIfAvailable { RecordKeyView.fault(inBundleID: .init($0)) }
        if let error = error ?? nil { throw error }
        self.bundleID = bundleID
        self.shard = shard
    }

    /// The key that `view` shows, copied.
    public init(_ view: RecordKeyView) {
        bundleID = String(decoding: view.bundleID, as: UTF8.self)
        shard = view.shard
    }

    /// The key in `bytes`. Throws the errors of `RecordKeyView.init`.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(RecordError) {
        self.init(try RecordKeyView(parsing: bytes))
    }

    /// The key of the record that carries `token` when `bundleID` is spread over `spread` keys. Without a shard when
    /// the spread is 1.
    public init(bundleID: String, token: UnsafeRawBufferPointer, spread: UInt32) throws(RecordError) {
        try self.init(bundleID: bundleID, shard: spread > 1 ? Self.shard(of: token, spread: spread) : nil)
    }

    /// The shard that `token` belongs to: its CRC-32 modulo `spread`, which must be at least 1.
    public static func shard(of token: UnsafeRawBufferPointer, spread: UInt32) -> UInt32 {
        precondition(spread >= 1, "a bundle has at least one shard")
        return spread == 1 ? 0 : CRC32.checksum(token) % spread
    }

    /// The key as it is published.
    public var description: String {
        guard let shard else { return bundleID }
        return "\(bundleID)#\(shard)"
    }
}

/// A record's key, read in place: valid only as long as its bytes.
public struct RecordKeyView {
    /// The longest bundle ID taken.
    public static let bundleIDLimitBytes = 255

    /// The bundle ID, within the key.
    public let bundleID: UnsafeRawBufferPointer

    /// The shard, if the key names one.
    public let shard: UInt32?

    /// Parses `bytes` without a copy.
    ///
    /// Throws `keyMissing`, `keyNotUTF8`, `keyWithoutBundle`, `bundleInvalid` or `shardInvalid`.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(RecordError) {
        guard !bytes.isEmpty else { throw RecordError(.keyMissing, "the record has no key; it names the bundle ID") }
        guard let separator = bytes.firstIndex(of: UInt8(ascii: "#")) else {
            if let error = Self.fault(inBundleID: bytes) { throw error }
            bundleID = bytes
            shard = nil
            return
        }
        bundleID = UnsafeRawBufferPointer(rebasing: bytes[..<separator])
        if let error = Self.fault(inBundleID: bundleID) { throw error }
        shard = try Self.parseShard(UnsafeRawBufferPointer(rebasing: bytes[(separator + 1)...]))
    }

    /// The fault of a bundle ID, if any.
    ///
    /// Allowed are Apple's characters (letters, digits, hyphen, period) and the underscore of older bundle IDs. The
    /// check is strict because the bundle ID becomes part of Redis keys and file names. [ours]
    static func fault(inBundleID bytes: UnsafeRawBufferPointer) -> RecordError? {
        guard !bytes.isEmpty else { return RecordError(.keyWithoutBundle, "no bundle ID stands before the '#'") }
        guard bytes.count <= bundleIDLimitBytes else {
            return RecordError(
                .bundleInvalid,
                "a bundle ID of \(bytes.count) bytes; at most \(bundleIDLimitBytes) are allowed"
            )
        }
        guard let place = bytes.firstIndex(where: { !isBundleIDCharacter($0) }) else { return nil }
        guard isValidUTF8(bytes) else { return RecordError(.keyNotUTF8, "the key is not UTF-8") }
        return RecordError(
            .bundleInvalid,
            "the bundle ID has a character other than letters, digits, '.', '-' and '_': "
                + "\(name(of: bytes[place])) at byte \(place)"
        )
    }

    /// The name of a character that does not belong into a key, for people.
    ///
    /// None is passed over, not even a serializer's quotation marks or a line end: the key with them lies in another
    /// partition than the plain one, and taken for the same it would break the order of a token's requests. [ours]
    private static func name(of byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\""): "a quotation mark"
        case UInt8(ascii: " "): "a space"
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): "a line end"
        case 0x21..<0x7F: "'\(Character(UnicodeScalar(byte)))'"
        case 0x80...: "one that is not ASCII"
        default: "a control character"
        }
    }

    private static func isBundleIDCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Decimal digits without sign, space or leading zero: one shard has one spelling, because the spelling decides
    /// the partition.
    private static func parseShard(_ digits: UnsafeRawBufferPointer) throws(RecordError) -> UInt32 {
        var shard: UInt64 = 0
        let isCanonical = digits.first != UInt8(ascii: "0") || digits.count == 1
        guard (1...10).contains(digits.count), isCanonical else { throw shardError }
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else {
                throw RecordError(.shardInvalid, "\(shardError.message); it has \(name(of: byte))")
            }
            shard = shard * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        guard let shard = UInt32(exactly: shard) else { throw shardError }
        return shard
    }

    private static var shardError: RecordError {
        RecordError(
            .shardInvalid,
            "what follows the '#' is not a shard number: digits, 0...\(UInt32.max), no leading zero"
        )
    }
}
