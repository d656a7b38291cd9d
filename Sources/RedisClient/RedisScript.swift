/// A Lua script that the server runs atomically, called by the hash of its source (EVALSHA). The source is sent only to
/// a server that does not have it.
public struct RedisScript: Sendable, Hashable {
    /// The Lua source.
    public let source: String
    /// The SHA-1 of the source as 40 lower-case hex digits in ASCII: the script's name in Redis.
    public let digest: [UInt8]

    public init(_ source: String) {
        self.source = source
        digest = SHA1.hexDigest(source.utf8)
    }
}
