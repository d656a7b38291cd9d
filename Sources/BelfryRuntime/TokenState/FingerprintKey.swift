import PipelineCore

/// The Redis key of what is known of one token under one fingerprint: `<x>:{<environment>:<bundle>:<xx>}:<fingerprint>`.
///
/// The hash tag is that of ``TokenKeys``, so that everything about one token lives in one slot. The fingerprint is twelve raw
/// bytes (``RequestFingerprint``): with a usual bundle ID the whole key fits 48 bytes of Redis memory.
struct FingerprintKey: Sendable {
    /// What is known; the key's first letter.
    enum Purpose: String {
        /// One request to the token was sent; the fingerprint is that of its request ID. The value is a small number, of which
        /// Redis keeps one for all.
        case request = "d"
        /// The window of a coalescing key; the value is that of ``CoalesceScript``.
        case window = "c"
    }

    /// `<x>:{<environment>:<bundle>:`
    private let prefix: [UInt8]

    init(_ purpose: Purpose, environment: String, bundleID: String) {
        prefix = Array("\(purpose.rawValue):{\(environment):\(bundleID):".utf8)
    }

    /// Length of every key.
    var count: Int { prefix.count + 4 + RequestFingerprint.bytes }

    /// Writes the key into `buffer`, which has room for ``count``.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    func write(_ fingerprint: RequestFingerprint, checksum: UInt32, into buffer: UnsafeMutableRawBufferPointer) {
        buffer.copyBytes(from: prefix)
        TokenKeys.writeTagEnd(tag: TokenKeys.tag(checksum: checksum), into: buffer, at: prefix.count)
        buffer[prefix.count + 3] = UInt8(ascii: ":")
        fingerprint.write(into: UnsafeMutableRawBufferPointer(rebasing: buffer[(prefix.count + 4)...]))
    }
}
