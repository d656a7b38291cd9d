import RedisClient

extension RedisError {
    /// The server will refuse the same command for good, while others work. The key holds another type, or the record
    /// has an unknown form. Not so if the server has no room for its clients: that passes, and concerns all
    /// of them. [ours]
    package var isAboutOneKey: Bool {
        guard case .server(let prefix, _) = self, !isAboutTooManyClients else { return false }
        return Self.lastingPrefixes.contains(prefix)
    }

    private static let lastingPrefixes: Set<String> = ["WRONGTYPE", "NOPERM", "ERR", "BELFRY"]
}
