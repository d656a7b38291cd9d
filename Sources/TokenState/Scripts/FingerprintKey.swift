import PipelineCore

/// A Redis key for data about one token and fingerprint: `<x>:{<environment>:<bundle>:<xx>}:<fingerprint>`.
///
/// The hash tag is that of ``TokenKeys``, so that everything about one token lives in one slot. The fingerprint is
/// twelve raw bytes (``RequestFingerprint``): with a usual bundle ID the whole key fits 48 bytes of Redis memory.
package struct FingerprintKey: Sendable {
    /// The kind of data; the key's first letter.
    package enum Purpose: String {
        /// A request to the token was sent; the fingerprint is that of its request ID. The value is a small number,
        /// which Redis stores once for all keys.
        case request = "d"
        /// The window of a coalescing key; the value is that of ``CoalesceScript``.
        case window = "c"
        /// The badge of a token; the fingerprint is the token's under ``RequestFingerprint/tokenKey``. The value is
        /// that of ``BadgeScript``.
        case badge = "b"
    }

    /// `<x>:{<environment>:<bundle>:`
    private let prefix: [UInt8]

    package init(_ purpose: Purpose, environment: String, bundleID: String) {
        prefix = Array("\(purpose.rawValue):{\(environment):\(bundleID):".utf8)
    }

    /// Length of every key.
    package var count: Int { prefix.count + 4 + RequestFingerprint.bytes }

    /// Writes the key into `buffer`, which has room for ``count``.
    ///
    /// - Parameter tag: the number of the token's hash tag.
    package func write(_ fingerprint: RequestFingerprint, tag: Int, into buffer: UnsafeMutableRawBufferPointer) {
        buffer.copyBytes(from: prefix)
        TokenKeys.writeTagEnd(tag: tag, into: buffer, at: prefix.count)
        buffer[prefix.count + 3] = UInt8(ascii: ":")
        fingerprint.write(into: UnsafeMutableRawBufferPointer(rebasing: buffer[(prefix.count + 4)...]))
    }
}
