public import NIOCore

extension RedisConnection {
    /// The server's endpoint, and the limits of a connection to it.
    public struct Configuration: Sendable {
        public var endpoint: RedisEndpoint
        /// Asked for the server before each attempt to connect; it has the endpoint's scheme, login and database. Nil:
        /// the endpoint is the server.
        public var sentinels: RedisSentinels?
        /// The name shown by CLIENT LIST; no spaces. nil sends none. A server that forbids naming is used all the same.
        public var clientName: String? = "belfry"
        /// Limit for establishing a connection, and again for the login on it.
        public var connectTimeout = TimeAmount.seconds(5)
        /// The longest wait of a command for a connection, and again for its reply. The first one counts from the first
        /// command of the event loop's turn. A late reply costs the connection, so no blocking commands (BLPOP, …)
        /// beyond it. nil: for ever.
        public var commandTimeout: TimeAmount? = .seconds(10)
        /// Most memory for one reply, in bytes (1…4 GiB - 1); a larger one costs the connection.
        public var replyLimitBytes = 64 << 20
        /// Commands that may wait for a connection; more are ``RedisError/notSent(reason:)`` at once.
        public var waitingLimitCommands = 65_536
        /// Most bytes of waiting commands; the last one let in may overshoot.
        public var waitingLimitBytes = 32 << 20
        /// Commands that may be without reply; more wait. One turn of the event loop may call as many completions.
        public var inFlightLimitCommands = 2048
        /// The wait before connecting again. `attempt` counts the failures in a row (from 1 on, 1 being the loss of a
        /// connection that worked). Called on the event loop.
        public var delay: @Sendable (_ attempt: Int) -> TimeAmount = RedisConnection.exponentialDelay
        /// Called for every new channel before it connects to the endpoint, on its event loop. The place to add a TLS
        /// handler (with ``RedisEndpoint/tls`` and ``RedisEndpoint/host`` as input). A failure counts as a failure to
        /// connect.
        public var configureChannel: @Sendable (any Channel, RedisEndpoint) -> EventLoopFuture<Void> = { channel, _ in
            channel.eventLoop.makeSucceededVoidFuture()
        }

        public init(endpoint: RedisEndpoint) {
            self.endpoint = endpoint
        }
    }

    /// 50 ms doubling up to 5 s, minus a random part of up to one half, so that a fleet does not reconnect in step.
    public static let exponentialDelay: @Sendable (_ attempt: Int) -> TimeAmount = { attempt in
        let fullMilliseconds = min(5000, Int64(50) << Int64(min(max(attempt - 1, 0), 10)))
        return .milliseconds(.random(in: (fullMilliseconds / 2)...fullMilliseconds))
    }
}

/// The states that ``RedisConnection/onStateChange`` reports.
public enum RedisConnectionState: Sendable, Equatable {
    /// Logged in; commands flow.
    case connected
    /// Lost, or could not be made; the next attempt is scheduled.
    case disconnected(RedisDisconnection)
}

/// The reason why there is no connection.
public struct RedisDisconnection: Error, Sendable, Equatable, CustomStringConvertible {
    /// The server's `host:port`.
    public let address: String
    public let reason: String
    /// The server's answer to the login, if that is the reason; or a sentinel's, if no sentinel accepts the login.
    public let refusal: RedisError?
    /// Failures in a row, from 1 on.
    public let attempt: Int

    /// The login failed: by the user, the password or the lack of one. Waiting does not help.
    public var isAuthenticationFailure: Bool {
        guard case .server(let prefix, let message) = refusal else { return false }
        // Before Redis 6 a wrong password was a plain ERR; a superfluous one still is.
        return ["WRONGPASS", "NOAUTH", "NOPERM"].contains(prefix)
            || message.contains("invalid password")
            || message.contains("without any password configured")
    }

    public var description: String { "Redis at \(address): \(reason)" }
}
