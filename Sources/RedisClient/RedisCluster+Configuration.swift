public import NIOCore

extension RedisCluster {
    /// How to reach the servers, and the limits.
    public struct Configuration: Sendable {
        /// What the seeds are.
        public enum Kind: Sendable {
            /// The first one says: a server that knows no cluster, or does not tell, is a single server.
            case detect
            /// Nodes of a cluster.
            case cluster
            /// The first one is a single server; it is not asked.
            case single
        }

        /// Servers to begin with, at least one. All have the scheme and credentials of the first.
        public var seeds: [RedisEndpoint]
        public var kind = Kind.detect
        /// Makes the configuration for the connection to a node. Called on the event loop.
        public var connection: @Sendable (RedisEndpoint) -> RedisConnection.Configuration
        /// How often the map of slots is asked for without a reason.
        public var refreshInterval = TimeAmount.seconds(30)
        /// The same however many reasons there are.
        public var minimumRefreshInterval = TimeAmount.milliseconds(100)
        /// How long a node may take to tell the map, its connecting included, before another is asked.
        public var refreshTimeout = TimeAmount.seconds(2)
        /// How long to wait before the map is asked for again after so many failures in a row, from 1 on.
        public var refreshDelay: @Sendable (_ attempt: Int) -> TimeAmount = RedisCluster.refreshDelay
        /// How often one command follows a redirection before it fails with the server's words.
        public var redirectionLimit = 8
        /// How long a command waits that nobody could run, after so many attempts, from 1 on.
        public var retryDelay: @Sendable (_ attempt: Int) -> TimeAmount = RedisCluster.retryDelay
        /// Commands that may wait for a map, or for a node that says "later"; more fail at once.
        public var parkedLimitCommands = 65_536
        /// The same in bytes.
        public var parkedLimitBytes = 32 << 20

        public init(
            seeds: [RedisEndpoint],
            connection: @escaping @Sendable (RedisEndpoint) -> RedisConnection.Configuration = { .init(endpoint: $0) }
        ) {
            precondition(!seeds.isEmpty, "a cluster has a seed")
            self.seeds = seeds
            self.connection = connection
        }
    }

    /// 50 ms doubling up to 1.6 s, of which a random half is taken off.
    public static let refreshDelay: @Sendable (_ attempt: Int) -> TimeAmount = { attempt in
        halved(milliseconds: 50 << Int64(min(max(attempt - 1, 0), 5)))
    }

    /// 10 ms doubling up to 640 ms, of which a random half is taken off.
    public static let retryDelay: @Sendable (_ attempt: Int) -> TimeAmount = { attempt in
        halved(milliseconds: 10 << Int64(min(max(attempt - 1, 0), 6)))
    }

    private static func halved(milliseconds: Int64) -> TimeAmount {
        .milliseconds(.random(in: (milliseconds / 2)...milliseconds))
    }
}
