import PipelineCore
import RedisClient

/// The Redis key that remembers one request to one token: `d:{<environment>:<bundle>:<xx>}:<fingerprint>`.
///
/// The hash tag is that of ``TokenKeys``, so that everything about one token lives in one slot. The fingerprint is twelve raw
/// bytes (``RequestFingerprint``): with a usual bundle ID the whole key fits 48 bytes of Redis memory, and its value is a small
/// number, of which Redis keeps one for all.
struct DedupeKey: Sendable {
    /// `d:{<environment>:<bundle>:`
    private let prefix: [UInt8]

    init(environment: String, bundleID: String) {
        prefix = Array("d:{\(environment):\(bundleID):".utf8)
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
