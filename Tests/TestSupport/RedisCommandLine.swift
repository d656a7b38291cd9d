/// A Redis server of this machine that takes commands through redis-cli. Its methods block.
public protocol RedisCommandLine: Sendable {
    /// Of the loopback interface.
    var port: Int { get }

    /// Runs a command on this server; returns the printed text.
    func command(_ words: [String]) throws -> String
}

extension RedisCommandLine {
    /// Runs a command on this server; returns the printed text.
    public func command(_ words: String...) throws -> String {
        try command(words)
    }

    /// The name that a cluster gave it.
    public func nodeID() throws -> String {
        String(try command("CLUSTER", "MYID").prefix { $0.isHexDigit })
    }
}
