import PushSchemas

/// The Redis key of a token's state: `t:{<environment>:<bundle>:<xx>}:<token>`.
///
/// The hash tag in braces holds environment, bundle and the top eight bits of the token's CRC-32 as two hexadecimal digits,
/// so that everything about one token lives in one slot of a Redis Cluster. The token stands as raw bytes.
struct TokenKey: Sendable {
    /// `t:{<environment>:<bundle>:`
    private let prefix: [UInt8]

    private static let hexadecimal = Array("0123456789abcdef".utf8)

    init(environment: String, bundleID: String) {
        prefix = Array("t:{\(environment):\(bundleID):".utf8)
    }

    /// Length of the key of a token of so many bytes.
    func count(tokenBytes: Int) -> Int {
        prefix.count + 4 + tokenBytes
    }

    /// Writes the key into `buffer`, which has room for ``count(tokenBytes:)``.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    func write(token: UnsafeRawBufferPointer, checksum: UInt32, into buffer: UnsafeMutableRawBufferPointer) {
        prefix.withUnsafeBytes { buffer.copyMemory(from: $0) }
        Self.writeTagEnd(checksum: checksum, into: buffer, at: prefix.count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[(prefix.count + 4)...]).copyMemory(from: token)
    }

    /// Writes `<xx>}:`, the end of the hash tag.
    static func writeTagEnd(checksum: UInt32, into buffer: UnsafeMutableRawBufferPointer, at index: Int) {
        buffer[index] = hexadecimal[Int(checksum >> 28)]
        buffer[index + 1] = hexadecimal[Int(checksum >> 24 & 15)]
        buffer[index + 2] = UInt8(ascii: "}")
        buffer[index + 3] = UInt8(ascii: ":")
    }

    /// The key of one token.
    func bytes(token: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count(tokenBytes: token.count)) { buffer, initialized in
            write(token: token, checksum: CRC32.checksum(token), into: UnsafeMutableRawBufferPointer(buffer))
            initialized = count(tokenBytes: token.count)
        }
    }
}
