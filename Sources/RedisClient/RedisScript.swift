/// A Lua script that the server runs atomically, called by the hash of its source (EVALSHA), so that the source travels
/// only when a server does not know it.
public struct RedisScript: Sendable, Hashable {
    /// The Lua source.
    public let source: String
    /// The SHA-1 of the source as 40 lower-case hex digits in ASCII: the name Redis knows it by.
    public let digest: [UInt8]

    public init(_ source: String) {
        self.source = source
        digest = SHA1.hexDigest(source.utf8)
    }
}
