import PipelineCore

/// The Redis key of the window of one token and coalescing key: `c:{<environment>:<bundle>:<xx>}:<fingerprint>`.
///
/// Hash tag and length as in ``DedupeKey``; the fingerprint is that of token and coalescing key.
struct CoalesceKey: Sendable {
    /// `c:{<environment>:<bundle>:`
    private let prefix: [UInt8]

    init(environment: String, bundleID: String) {
        prefix = Array("c:{\(environment):\(bundleID):".utf8)
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
