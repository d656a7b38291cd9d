import COpenSSL

/// A Lua script that the server runs atomically, called by the hash of its source (EVALSHA). The source is sent only to
/// a server that does not have it.
public struct RedisScript: Sendable, Hashable {
    /// The Lua source.
    public let source: String
    /// The SHA-1 of the source as 40 lower-case hex digits in ASCII: the script's name in Redis.
    public let digest: [UInt8]

    public init(_ source: String) {
        self.source = source
        digest = Self.digest(of: Array(source.utf8))
    }

    private static func digest(of source: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        guard SHA1(source, source.count, &digest) != nil else { preconditionFailure("OpenSSL is set up without SHA-1") }
        let digits = Array("0123456789abcdef".utf8)
        return digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
    }
}
