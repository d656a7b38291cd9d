import RedisClient

extension RedisError {
    /// Whether the server will refuse the same command for good, while others work: the key holds something else, or the
    /// record has a form that is not known here. [ours]
    var isAboutOneKey: Bool {
        guard case .server(let prefix, _) = self else { return false }
        return Self.lastingPrefixes.contains(prefix)
    }

    private static let lastingPrefixes: Set<String> = ["WRONGTYPE", "NOPERM", "ERR", "BELFRY"]
}
