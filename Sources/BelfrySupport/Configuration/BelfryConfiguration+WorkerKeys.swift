import PipelineCore
import RequestLanes

extension BelfryConfiguration {
    static let workerKeys: [Key] = [
        Key("worker.shards", \.worker.shards, .integer(1...256)) {
            "threads in each lane, each with a consumer and connections of its own"
        },
        Key("worker.lanes", \.worker.lanes, .choices(), read: readLanes) {
            """
            the lanes that the worker serves, of those whose Kafka topics are there when it starts. Each has threads, \
            connections and a consumer group of its own, and a share of `worker.shard-memory`
            """
        },
        Key("worker.group-id", \.worker.groupID, .text) { "consumer group of all workers, behind `kafka.prefix`" },
        Key("worker.start", \.worker.start, .choice) {
            """
            for partitions that were read before and of which the group has no commit any more, or never had: `stand` \
            reads nothing of them until their offset is set; `beginning` sends the whole log, again if need be; `end` \
            leaves out what is there. Take it out again afterwards. A fresh partition starts at its beginning, see \
            [Without a commit](OPERATE.md#without-a-commit)
            """
        },
        Key("worker.batch", \.worker.batch, .integer(1...10_000)) {
            "records taken from Kafka at once, and tokens looked up in one Redis command"
        },
        Key("worker.connections-per-topic", \.worker.connectionsPerTopic, .integer(1...256)) {
            """
            most connections per shard, environment and bundle; opened when there is something to send. Over HTTP/2 \
            the apps that share a provider key share its connections
            """
        },
        Key(
            "worker.confirmation-window",
            \.worker.confirmationWindow,
            .duration(.milliseconds(100)...(.seconds(300)))
        ) { "how long silence must last before a notification is presumed accepted" },
        Key(
            "worker.unknown-fate",
            \.worker.unknownFate,
            .choice,
            counts: "for connections that are lost from then on"
        ) {
            """
            what happens to notifications whose fate a connection left open: `resend` (at least once), `presume` (at \
            most once), `give-up` (outcome unknown)
            """
        },
        Key(
            "worker.max-uncommitted",
            \.worker.maxUncommitted,
            .integer(1...100_000_000),
            counts: "at once; what was taken in stays"
        ) { "notifications of an app that may be taken in from one partition and not be behind its cursor" },
        Key("worker.in-flight-per-connection", \.worker.inFlightPerConnection, .integer(1...16_777_216)) {
            "notifications handed to a connection and not settled"
        },
        Key("worker.in-flight-bytes", \.worker.inFlightBytes, .integer(65_536...4_294_967_296)) {
            "bytes of frames handed to a connection and not settled"
        },
        Key(
            "worker.processing-attempts",
            \.worker.processingAttempts,
            .integer(1...100),
            counts: "at a notification's next answer"
        ) { "how often a notification that meets status 1 is sent in all" },
        Key(
            "worker.retry-for",
            \.worker.retryFor,
            .duration(.seconds(1)...(.seconds(3600))),
            counts: "at a notification's next answer"
        ) { "how long a notification that meets status 1, or 429 over HTTP/2, is tried again at most" },
        Key(
            "worker.sentinel-timeout",
            \.worker.sentinelTimeout,
            .duration(.milliseconds(100)...(.seconds(300))),
            counts: "for sentinels sent from then on"
        ) {
            """
            how long a stop, or the end of an old connection, waits for the answer to a sentinel; at least the \
            confirmation window
            """
        },
        Key(
            "worker.connection-max-age",
            \.worker.connectionMaxAge,
            .duration(.seconds(1)...(.seconds(30 * 86_400))),
            standard: "never"
        ) { "age at which a connection is replaced at the latest (up to a quarter earlier)" },
        Key("worker.idle-timeout", \.worker.idleTimeout, .duration(.seconds(1)...(.seconds(86_400)))) {
            """
            a connection on which nothing was sent for so long is closed; while an app is \
            [kept warm](LANES.md#keep-an-app-warm) it stays, or another is opened
            """
        },
        Key("worker.connect-timeout", \.worker.connectTimeout, .duration(connectTimeouts)) {
            "how long connecting may take, again the handshake, and again the answers of a proxy"
        },
        Key("worker.backoff-base", \.worker.backoffBase, .duration(.milliseconds(100)...(.seconds(60)))) {
            "the longest first wait after a connection failed, at most the cap"
        },
        Key("worker.backoff-cap", \.worker.backoffCap, .duration(.seconds(1)...(.seconds(3600)))) {
            "the longest wait after a connection failed"
        },
        Key(
            "worker.connections-per-minute",
            \.worker.connectionsPerMinute,
            .integer(1...100_000),
            counts: "at once; connections of the last minute count"
        ) {
            """
            connections that the process opens again in any minute, half of them at once, shared fairly between the \
            apps that wait, urgent requests first, a tenth for each lane that waits; an app's first connections are \
            paced instead (20 a second in each lane)
            """
        },
        Key(
            "worker.invalid-token-share",
            \.worker.invalidTokenShare,
            .number(0.01...1),
            counts: "at once: the latest answers are judged anew"
        ) {
            """
            if more than this share of an app's latest answers call the token invalid, the gateway is doubted: the \
            app is stopped and probed, no tombstone is written
            """
        },
        Key(
            "worker.invalid-token-sample",
            \.worker.invalidTokenSample,
            .integer(1...1_000_000),
            counts: "at once: the latest answers are judged anew"
        ) { "of how many of an app's latest answers `worker.invalid-token-share` is taken" },
        Key("worker.park-after", \.worker.parkAfter, .duration(.seconds(1)...(.seconds(86_400))), counts: "at once") {
            "how long an app's notifications may wait without any going through before the app is stopped and probed"
        },
        Key(
            "worker.park-probe-base",
            \.worker.parkProbeBase,
            .duration(.milliseconds(100)...(.seconds(3600))),
            counts: "for waits that begin from then on"
        ) { "the longest first wait before a stopped app is probed, at most the cap" },
        Key(
            "worker.park-probe-cap",
            \.worker.parkProbeCap,
            .duration(.seconds(1)...(.seconds(86_400))),
            counts: "for waits that begin from then on"
        ) { "the longest wait between two probes of a stopped app" },
        Key("worker.certificate-grace", \.worker.certificateGrace, .duration(.seconds(1)...(.seconds(30 * 86_400)))) {
            """
            how long the group waits for the certificate of a bundle that has records; Redis keeps since when it is \
            missed. Then records of a bundle without registered tokens become dead letters. A bundle with registered \
            tokens waits as long as it takes; without token state every bundle does
            """
        },
        Key("worker.token-state", \.worker.tokenState, .boolean) {
            "look tokens up in Redis; without, dead tokens are not known"
        },
        Key("worker.tombstone-filter", \.worker.tombstoneFilter, .boolean) {
            """
            follow `push.tombstones` and keep the dead tokens in memory, so that Redis is asked for those only; \
            `false`: for every token
            """
        },
        Key("worker.filter-max-age", \.worker.filterMaxAge, .duration(.seconds(1)...(.seconds(3600)))) {
            "how far the filter may be behind before Redis is asked for every token"
        },
        Key("worker.filter-memory", \.worker.filterMemoryBytes, .integer(1_048_576...1_099_511_627_776)) {
            """
            most bytes of the filter. A dead token takes 11 to 22 bytes, 32 while the bundle's part grows: the default \
            holds a hundred million. A bundle whose part would grow beyond it has no filter until the worker starts \
            again: Redis is asked for every token of it
            """
        },
        Key("worker.dedupe-window", \.worker.dedupeWindow, .duration(.zero...(.seconds(86_400))), standard: "off") {
            """
            for how long Redis remembers which tokens a request, by its `request_id`, arrived at, or was superseded \
            for: within that time it is not sent to them again (outcome `duplicate`); `0s`: not at all. Needs token \
            state
            """
        },
        Key(
            "worker.coalescing-window",
            \.worker.coalescingWindow,
            .duration(coalescingWindows),
            standard: "none",
            counts: "for windows that begin from then on"
        ) {
            """
            a device gets at most one notification per coalescing key in so long a time, the newest at its end; see \
            [Coalescing](../Schemas/README.md#coalescing)
            """
        },
        Key("worker.peer-timeout", \.worker.peerTimeout, .duration(.seconds(1)...(.seconds(300)))) {
            """
            a gateway that acknowledges no byte of what was written for so long is dead, whatever TCP believes: its \
            connection is given up
            """
        },
        Key(
            "worker.request-timeout",
            \.worker.requestTimeout,
            .duration(.seconds(1)...(.seconds(300))),
            counts: "at once, for requests in flight, too"
        ) {
            """
            how long a request over HTTP/2 may go without an answer; its fate is unknown then, see \
            `worker.unknown-fate`
            """
        },
        Key(
            "worker.commit-patience",
            \.worker.commitPatience,
            .duration(.seconds(1)...(.seconds(300))),
            standard: "a third of `session.timeout.ms`"
        ) {
            """
            while a commit is not answered for so long, or after the process stood still for so long, nothing is sent \
            until one is answered: another worker may have the partitions. Less than the session
            """
        },
        Key(
            "worker.shard-memory",
            \.worker.shardMemoryBytes,
            .integer(memoryBytes),
            counts: "at once; what was taken in stays"
        ) {
            """
            most bytes of one shard for records and notifications that are not done. An app may hold as much as is \
            free: one alone takes half
            """
        },
        Key(
            "worker.topic-memory",
            \.worker.topicMemoryBytes,
            .integer(memoryBytes),
            counts: "at once; what was taken in stays"
        ) { "most bytes of one shard for those of one app" },
        Key(
            "worker.stop-timeout",
            \.worker.stopTimeout,
            .duration(.seconds(1)...(.seconds(3600))),
            counts: "at the stop"
        ) {
            """
            how long a stop may wait for the broker to acknowledge what was published; notifications in flight get the \
            confirmation window and 1 s
            """
        },
        Key(
            "worker.revoke-deadline",
            \.worker.revokeDeadline,
            .duration(.seconds(1)...(.seconds(300))),
            counts: "for partitions taken away from then on"
        ) {
            """
            how long a partition that is taken away may wait for the broker, as at a stop; below the session time-out \
            of the group (45 s)
            """
        },
    ]

    /// Of a shard, and of one topic.
    private static let memoryBytes = 16_777_216...1_099_511_627_776

    /// Of the worker, and of one topic.
    static let coalescingWindows = Duration.zero...(.seconds(30))
}
