import RedisClient

/// Address of Redis, and the demands on it. The rows of `BelfryConfiguration.serverKeys` explain each setting.
public struct RedisSettings: Sendable, Equatable {
    /// Made of `redis.url`, at least one: a server, nodes of a cluster, which have the same scheme and credentials, or
    /// sentinels of one master, with its login. Their descriptions blank the password out.
    public var endpoints = [RedisEndpoint(host: "127.0.0.1")]
    /// Tells whether they are nodes of a cluster.
    public var cluster = RedisClusterChoice.auto
    /// For `rediss://` and `rediss+sentinel://`.
    public var tls = RedisTLSSettings()
    /// For `redis+sentinel://` and `rediss+sentinel://`.
    public var sentinel = RedisSentinelSettings()
    public var commandTimeout = Duration.seconds(10)
    public var connectTimeout = Duration.seconds(5)
    public var durability = RedisDurabilityPolicy.refuse
    public var replay = Duration.seconds(600)
    public var whenAway = RedisAbsencePolicy.wait
    public var awayAfter = Duration.seconds(1)

    /// The first one.
    public var endpoint: RedisEndpoint {
        get { endpoints[0] }
        set { endpoints[0] = newValue }
    }

    /// The addresses, for messages.
    package var place: String {
        let addresses = endpoints.map(\.address).joined(separator: ", ")
        return endpoint.master.map { "\(addresses) (sentinels of \($0))" } ?? addresses
    }

    public init() {}
}

/// Tells whether `redis.url` names a cluster.
public enum RedisClusterChoice: String, Sendable, CaseIterable {
    /// Several URLs do; a single one says itself.
    case auto
    case yes = "true"
    case no = "false"
}

/// Roots and client certificate for connections over TLS.
public struct RedisTLSSettings: Sendable, Equatable {
    /// Roots in PEM form; nil: the system's.
    public var trustFile: String?
    /// The client's certificate in PEM form; nil: none.
    public var certificateFile: String?
    /// Its key, if that is in a file of its own.
    public var keyFile: String?
    /// Name in the servers' certificates; nil: the host that is connected to.
    public var serverName: String?

    public init() {}
}

/// Login for the sentinels themselves, which have users of their own.
public struct RedisSentinelSettings: Sendable, Equatable {
    /// Nil: the default user.
    public var user: String?
    /// Nil: no login. Never log it.
    public var password: String?

    public init() {}
}

/// Policy for a role whose Redis may lose what it has acknowledged.
public enum RedisDurabilityPolicy: String, Sendable, CaseIterable {
    /// It says so in its log.
    case warn
    /// It does not start.
    case refuse
}

/// The worker's policy while Redis does not answer.
public enum RedisAbsencePolicy: String, Sendable, CaseIterable {
    /// Nothing is sent.
    case wait
    /// Notifications are sent without token state, which their outcomes say.
    case send
}
