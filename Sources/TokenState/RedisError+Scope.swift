import RedisClient

extension RedisError {
    /// The server will refuse the same command for good, while others work. The key holds another type, or the record
    /// has an unknown form. [ours]
    package var isAboutOneKey: Bool {
        guard case .server(let prefix, _) = self else { return false }
        return Self.lastingPrefixes.contains(prefix)
    }

    private static let lastingPrefixes: Set<String> = ["WRONGTYPE", "NOPERM", "ERR", "BELFRY"]
}
