/// A master with a replica, and three sentinels that watch over them, all of the test's own on the loopback interface.
public final class RedisSentinelProcesses: Sendable {
    /// The master's name among the sentinels.
    public static let master = "news"

    /// The master at first.
    public let first: RedisServerProcess
    /// Its replica, which takes over.
    public let second: RedisServerProcess
    public let sentinels: [RedisServerProcess]

    /// Two sentinels that have not heard of the master for that long let the replica take over.
    private static let downMilliseconds = 1000
    /// Sentinels that found no replica fit to take over try again after twice that time.
    private static let failOverMilliseconds = 5000

    /// Starts them and returns when the replica is in step and known to all sentinels, as they are to each other.
    ///
    /// - Parameters:
    ///   - arguments: of both servers.
    ///   - password: that the sentinels demand of clients and of each other.
    ///   - tls: for servers and sentinels that are to be had over TLS only.
    public init(arguments: [String] = [], password: String, tls: RedisTLSFiles? = nil) throws {
        // Otherwise the replica waits for others to share the transfer with.
        let arguments = arguments + ["--repl-diskless-sync-delay", "0"]
        let first = try RedisServerProcess(arguments: arguments, tls: tls)
        let replicaof = ["--replicaof", "127.0.0.1", "\(first.port)"]
        second = try RedisServerProcess(arguments: arguments + replicaof, tls: tls)
        self.first = first
        try second.waitForLog("sync: Finished with success", "the replica is not in step")
        sentinels = try (0..<3).map { _ in
            try RedisServerProcess(
                sentinel: [
                    "sentinel monitor \(Self.master) 127.0.0.1 \(first.port) 2",
                    "sentinel down-after-milliseconds \(Self.master) \(Self.downMilliseconds)",
                    "sentinel failover-timeout \(Self.master) \(Self.failOverMilliseconds)",
                    "requirepass \(password)",
                ],
                tls: tls
            )
        }
        for sentinel in sentinels {
            try sentinel.waitForLog("+slave slave", "a sentinel does not know the replica")
            try sentinel.waitForLog("+sentinel sentinel", "a sentinel is alone")
        }
    }
}
