import APNsProtocol
import RedisClient

extension BelfryConfiguration {
    typealias Key = ConfigurationKey<BelfryConfiguration>

    /// All but those of environments and topics.
    static let keys = serverKeys + credentialKeys + workerKeys + processKeys

    static let serverKeys: [Key] = [
        Key("kafka.brokers", \.kafka.brokers, KafkaSettings.brokersRule) { "addresses of the brokers" },
        Key("kafka.prefix", \.kafka.prefix, KafkaSettings.prefixRule) {
            """
            precedes the names of all Kafka topics and consumer groups, so that \
            [installations share a cluster](OPERATE.md#several-installations-on-one-cluster)
            """
        },
        Key("kafka.properties", \.kafka.properties, KafkaSettings.propertiesRule, read: readKafkaProperties) {
            """
            handed to librdkafka as they are, and winning over Belfry's own (`security.protocol`, `sasl.*`, \
            `session.timeout.ms`, `partition.assignment.strategy`, …), but for \
            [those on which promises rest](#refused-properties). `group.instance.id` names the process; each of its \
            members appends its own name
            """
        },
        Key("kafka.commit-metadata", \.kafka.commitMetadataBytes, .integer(KafkaSettings.commitMetadataRange)) {
            """
            most bytes of metadata beside a committed offset; no more than the brokers' `offset.metadata.max.bytes`, \
            which refuse the commit otherwise. A worker names lagging apps there, 15 bytes each \
            (`belfry_commit_unnamed_topics`): raise both where more than some 250 lag at once
            """
        },
        Key("redis.url", \.redis.endpoints, RedisSettings.urlRule, read: readRedisURL) {
            """
            a server, nodes of one cluster to begin with (the others are found), or [sentinels](REDIS.md#sentinel), \
            which name the server. Behind the name of a single server another may \
            [take over](REDIS.md#fail-over-behind-one-name)
            """
        },
        Key("redis.cluster", \.redis.cluster, .choice) {
            """
            `auto`: several URLs are a cluster, a single server is asked; `true`, `false`: without asking. A cluster \
            has database 0 only
            """
        },
        Key("redis.tls.trust", \.redis.tls.trustFile, .optional(.path), standard: "the system's roots") {
            """
            PEM file of the roots in which the servers' chains must end. All keys of `redis.tls` need `rediss://`, or \
            `rediss+sentinel://`
            """
        },
        Key("redis.tls.certificate", \.redis.tls.certificateFile, .optional(.path)) {
            "PEM file of the client's certificate"
        },
        Key("redis.tls.key", \.redis.tls.keyFile, .optional(.path)) {
            "PEM file of the client's key, if that lies apart"
        },
        Key("redis.tls.server-name", \.redis.tls.serverName, .optional(.text), standard: "the host") {
            "the name for which the servers' certificates must be"
        },
        Key("redis.sentinel.user", \.redis.sentinel.user, .optional(.text), standard: "the default user") {
            "logs in at the sentinels. The login in `redis.url` is for the servers alone"
        },
        Key("redis.sentinel.password", \.redis.sentinel.password, .optional(.text), read: readSentinelPassword) {
            "of that user (`requirepass` of the sentinels)"
        },
        Key("redis.command-timeout", \.redis.commandTimeout, .duration(RedisSettings.timeouts)) {
            """
            how long a command waits for a connection, and again for its reply; what a cluster cannot run for the \
            moment is asked again for so long, too
            """
        },
        Key("redis.connect-timeout", \.redis.connectTimeout, .duration(RedisSettings.timeouts)) {
            "how long a connection may take, and again the login"
        },
        Key("redis.durability", \.redis.durability, .choice) {
            """
            servers without `appendonly yes`, `appendfsync everysec` or `always`, and `noeviction`: `refuse` ends the \
            role at its start with exit code 78 and says which setting to change; it waits for Redis before anything \
            else (a worker with `redis.when-away: send` for twice `redis.away-after` at most), and for the other \
            masters of a cluster half a minute after the first has answered. `warn` says so in the log. While a role \
            runs, either warns of a server that comes back, or takes over, set up so
            """
        },
        Key("redis.replay", \.redis.replay, .duration(.zero...(.seconds(86_400)))) {
            """
            registrations, feedback and gateways' tombstones that were applied in so long before a server's \
            replication ID changed are applied again; `0s`: nothing. Time in which nothing is applied, such as an \
            outage, does not count
            """
        },
        Key("redis.when-away", \.redis.whenAway, .choice) {
            """
            while Redis does not answer: `wait` sends nothing of apps that need it, and others go on after two \
            seconds; `send` goes on without token state, and outcomes say so (`without_token_state`): dead tokens are \
            sent to, repetitions not found; tombstones wait for Redis
            """
        },
        Key("redis.away-after", \.redis.awayAfter, .duration(.milliseconds(10)...(.seconds(60)))) {
            "with `redis.when-away: send`: how long a look-up may wait before Redis counts as away"
        },
    ]

    static let credentialKeys: [Key] = [
        Key("certificates.directory", \.certificates.directory, .path) {
            """
            see [Certificates](RUN.md#certificates). It must be there, unless only the default names it and \
            `keys.directory` is set
            """
        },
        Key("keys.directory", \.keys.directory, .optional(.path)) {
            "see [Provider keys](RUN.md#provider-keys); left out, there are none"
        },
        Key("keys.team", \.keys.team, .optional(.providerID)) {
            "team of the keys directly in the directory, and of the apps that name no team"
        },
    ]

    /// Of registrar and harvester, and of all roles.
    static let processKeys: [Key] = [
        Key("registrar.group-id", \.registrar.groupID, .text) {
            """
            consumer group of all registrars, behind `kafka.prefix`; that of `push.tombstones` has `-tombstones` \
            behind it
            """
        },
        Key("registrar.batch", \.registrar.batch, .integer(1...10_000)) {
            "records of a batch; two batches are applied at once, so that a round trip to Redis waits behind both"
        },
        Key("retention.tombstones", \.retention.tombstones, .age(RetentionSettings.ages)) {
            """
            for how long a dead token is remembered; `0s`: always. Longer than a registration may be late: one from \
            before the death that comes after it was forgotten wakes the token
            """
        },
        Key("retention.idle", \.retention.idle, .age(RetentionSettings.ages), standard: "always") {
            "for how long a living token is remembered that neither registers nor is described; `0s`: always"
        },
        Key("retention.rate", \.retention.rate, .integer(1...10_000_000), counts: "at the sweep's next step") {
            "tokens a second that the sweep looks at"
        },
        Key(
            "harvester.interval",
            \.harvester.interval,
            .duration(.seconds(1)...(.seconds(86_400))),
            counts: "at once: a wait that is on ends no later than it would if it began now"
        ) { "from one reading of a list to the next; at least daily is due" },
        Key("harvester.lease", \.harvester.lease, .duration(.seconds(5)...(.seconds(3600)))) {
            """
            only one harvester at a time reads a list, and stops when it cannot renew its lease in time; a lease that \
            is not renewed for so long is free. Rather more than a broker may take to answer, for the harvester waits
            """
        },
        Key("harvester.connect-timeout", \.harvester.connectTimeout, .duration(connectTimeouts)) {
            "how long connecting and handshake may take together"
        },
        Key("outcomes", \.outcomes, .choice, counts: "for outcomes from then on") { "which outcomes are published" },
        Key("operations.listen", \.operations.listen, .optional(.address(defaultPort: nil, allowsPortZero: true))) {
            "address of a role's `/metrics`, `/status`, `/readyz` and `/livez`; left out, there is none"
        },
        Key(OperationsSettings.tokenKey, \.operations.bearerTokenFile, .optional(.path)) {
            """
            file with the token that `/metrics` and `/status` want, see [Token and TLS](MONITORING.md#token-and-tls); \
            left out, they want none
            """
        },
        Key(OperationsSettings.certificateKey, \.operations.certificateFile, .optional(.path)) {
            """
            PEM file of certificate and key with which the port speaks TLS, intermediates behind the certificate; left \
            out, it speaks plain HTTP
            """
        },
        Key("log.level", \.logLevel, .choice, counts: "at once") { "the least severe level that is logged" },
    ]

    /// Of connecting and the handshake together.
    static let connectTimeouts = Duration.milliseconds(100)...(.seconds(300))
}

extension ValueRule<String> {
    /// The ID of a team or of a provider key.
    static var providerID: ValueRule {
        text(
            "1 to \(ProviderKeyID.limitBytes) letters and digits",
            pattern: "^[A-Za-z0-9]{1,\(ProviderKeyID.limitBytes)}$"
        ) {
            ProviderKeyID.isID($0) ? $0 : nil
        }
    }
}
