public import NIOCore

extension RedisCluster {
    /// The servers of a cluster, and the limits.
    public struct Configuration: Sendable {
        /// The kind of the seeds.
        public enum Kind: Sendable {
            /// The first seed decides: a server that has no cluster support, or does not tell, is a single server. It
            /// has to be a master.
            case detect
            /// Nodes of a cluster.
            case cluster
            /// The first seed is a single server, which has to be a master; it is not asked for a map. Where the
            /// connection has sentinels, these name the server.
            case single
        }

        /// Servers to begin with, at least one. All have the scheme and credentials of the first.
        public var seeds: [RedisEndpoint]
        public var kind = Kind.detect
        /// Makes the configuration for the connection to a node. Called on the event loop.
        public var connection: @Sendable (RedisEndpoint) -> RedisConnection.Configuration
        /// Time between two questions for the map of slots without a reason.
        public var refreshInterval = TimeAmount.seconds(30)
        /// Least time between two questions, however many reasons there are.
        public var minimumRefreshInterval = TimeAmount.milliseconds(100)
        /// The longest wait for a node's map, connecting included, before another node is asked.
        public var refreshTimeout = TimeAmount.seconds(2)
        /// The wait before the next question for the map. `attempt` counts the failures in a row, from 1 on.
        public var refreshDelay: @Sendable (_ attempt: Int) -> TimeAmount = RedisCluster.refreshDelay
        /// Time between two looks at the role of a single server, which has to be a master.
        public var roleInterval = TimeAmount.seconds(5)
        /// Most redirections that one command follows in a row, before it waits.
        public var redirectionLimit = 8
        /// The chance in the waits of commands that no node could run. Called on the event loop.
        public var randomBits: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        /// Most commands that may wait for a map, or for a node that says "later"; more fail at once.
        public var parkedLimitCommands = 65_536
        /// Most bytes of such commands.
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

    /// 50 ms doubling up to 1.6 s, minus a random part of up to one half.
    public static let refreshDelay: @Sendable (_ attempt: Int) -> TimeAmount = { attempt in
        let fullMilliseconds = Int64(50) << Int64(min(max(attempt - 1, 0), 5))
        return .milliseconds(.random(in: (fullMilliseconds / 2)...fullMilliseconds))
    }
}
