import RedisClient

/// Address of Redis, and the demands on it.
public struct RedisSettings: Sendable, Equatable {
    /// Made of `redis.url`, at least one: a server, or nodes of a cluster, which have the same scheme and credentials.
    /// Their descriptions blank the password out.
    public var endpoints = [RedisEndpoint(host: "127.0.0.1")]
    /// Tells whether they are nodes of a cluster.
    public var cluster = RedisClusterChoice.auto
    /// For `rediss://`.
    public var tls = RedisTLSSettings()
    /// Longest wait of a command for a connection, and again for its reply.
    public var commandTimeout = Duration.seconds(10)
    public var connectTimeout = Duration.seconds(5)
    /// Policy for a role whose servers may lose acknowledged writes.
    public var durability = RedisDurabilityPolicy.refuse
    /// Age up to which records are applied again. That happens when a server's history has changed; zero: nothing is.
    public var replay = Duration.seconds(600)
    /// The worker's policy while Redis does not answer.
    public var whenAway = RedisAbsencePolicy.wait
    /// Longest wait of a look-up before Redis counts as away. It holds where the worker goes on without Redis.
    public var awayAfter = Duration.seconds(1)

    /// The first one.
    public var endpoint: RedisEndpoint {
        get { endpoints[0] }
        set { endpoints[0] = newValue }
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

extension RedisSettings {
    init(reading section: ConfigurationSection, resolve: (String) -> String) {
        self.init()
        let url = section.text("url")
        if let (text, origin) = url {
            do throws(RedisEndpointError) {
                endpoints = try RedisEndpoint.list(urls: text)
            } catch {
                section.report(
                    "url",
                    origin,
                    found: "a URL that is wrong in its \(error.part.rawValue): \(error.message)",
                    allowed:
                        "redis://[user:password@]host[:port][/db], or rediss:// for TLS; several, comma-separated: "
                        + "nodes of a cluster, all with the same scheme, user and password"
                )
            }
        }
        // Without passwords.
        section.noteValue("url", endpoints.map(\.description).joined(separator: ", "), from: url?.origin)
        cluster = section.choice("cluster", default: cluster)
        let isCluster = cluster == .yes || endpoints.count > 1
        if isCluster, let endpoint = endpoints.first(where: { $0.database != 0 }) {
            section.report(
                "url",
                section.origin(of: "url"),
                found: "database \(endpoint.database) of a cluster",
                allowed: "database 0: a cluster has no other"
            )
        }
        if cluster == .no, endpoints.count > 1 {
            section.report(
                "cluster",
                section.origin(of: "cluster"),
                found: "false beside \(endpoints.count) URLs",
                allowed: "auto or true, or one URL"
            )
        }
        tls = RedisTLSSettings(reading: section.section("tls"), usesTLS: endpoint.tls, resolve: resolve)
        let timeouts = Duration.milliseconds(100)...(.seconds(300))
        commandTimeout = section.duration("command-timeout", in: timeouts, default: commandTimeout)
        connectTimeout = section.duration("connect-timeout", in: timeouts, default: connectTimeout)
        durability = section.choice("durability", default: durability)
        replay = section.duration("replay", in: .zero...(.seconds(86_400)), default: replay)
        whenAway = section.choice("when-away", default: whenAway)
        awayAfter = section.duration("away-after", in: .milliseconds(10)...(.seconds(60)), default: awayAfter)
        section.reportUnknownKeys()
    }
}

extension RedisTLSSettings {
    fileprivate init(reading section: ConfigurationSection, usesTLS: Bool, resolve: (String) -> String) {
        self.init()
        func file(_ key: String) -> String? {
            let path = section.string(key, default: "", resolve: resolve)
            return path.isEmpty ? nil : resolve(path)
        }
        trustFile = file("trust")
        certificateFile = file("certificate")
        keyFile = file("key")
        let name = section.string("server-name", default: "")
        serverName = name.isEmpty ? nil : name
        if keyFile != nil, certificateFile == nil {
            section.report(
                "key",
                section.origin(of: "key"),
                found: "a key without redis.tls.certificate",
                allowed: "both, or a certificate whose file holds its key"
            )
        }
        if !usesTLS, self != RedisTLSSettings() {
            // The operator believes that the connection is encrypted.
            section.report(
                section.names.first ?? "trust",
                section.origin(of: section.names.first ?? "trust"),
                found: "a setting for TLS",
                allowed: "only with a URL that begins with rediss://"
            )
        }
        section.reportUnknownKeys()
    }
}
