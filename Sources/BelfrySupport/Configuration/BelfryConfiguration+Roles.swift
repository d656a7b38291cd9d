import PipelineCore

// Name and range of each key of a role, and nothing else: the defaults are those of the settings.

extension WorkerSettings {
    /// - Parameter session: the consumer group's session time-out.
    init(reading section: ConfigurationSection, session: Duration) {
        self.init()
        commitPatience = Self.commitPatience(session: session)
        shards = section.integer("shards", in: 1...256, default: shards)
        groupID = section.string("group-id", default: groupID)
        start = section.choice("start", default: start)
        batch = section.integer("batch", in: 1...10_000, default: batch)
        connectionsPerTopic = section.integer("connections-per-topic", in: 1...256, default: connectionsPerTopic)
        confirmationWindow = section.duration(
            "confirmation-window",
            in: .milliseconds(100)...(.seconds(300)),
            default: confirmationWindow
        )
        unknownFate = section.choice("unknown-fate", default: unknownFate)
        maxUncommitted = section.integer("max-uncommitted", in: 1...100_000_000, default: maxUncommitted)
        inFlightPerConnection = section.integer(
            "in-flight-per-connection",
            in: 1...16_777_216,
            default: inFlightPerConnection
        )
        inFlightBytes = section.integer("in-flight-bytes", in: 65_536...4_294_967_296, default: inFlightBytes)
        processingAttempts = section.integer("processing-attempts", in: 1...100, default: processingAttempts)
        retryFor = section.duration("retry-for", in: .seconds(1)...(.seconds(3600)), default: retryFor)
        sentinelTimeout = section.duration(
            "sentinel-timeout",
            in: .milliseconds(100)...(.seconds(300)),
            default: sentinelTimeout
        )
        connectionMaxAge = section.duration(
            "connection-max-age",
            in: .seconds(1)...(.seconds(30 * 86_400)),
            default: connectionMaxAge
        )
        idleTimeout = section.duration("idle-timeout", in: .seconds(1)...(.seconds(86_400)), default: idleTimeout)
        connectTimeout = section.duration("connect-timeout", in: connectTimeouts, default: connectTimeout)
        backoffBase = section.duration("backoff-base", in: .milliseconds(100)...(.seconds(60)), default: backoffBase)
        backoffCap = section.duration("backoff-cap", in: .seconds(1)...(.seconds(3600)), default: backoffCap)
        connectionsPerMinute = section.integer("connections-per-minute", in: 1...100_000, default: connectionsPerMinute)
        invalidTokenShare = section.number("invalid-token-share", in: 0.01...1, default: invalidTokenShare)
        invalidTokenSample = section.integer("invalid-token-sample", in: 1...1_000_000, default: invalidTokenSample)
        parkAfter = section.duration("park-after", in: .seconds(1)...(.seconds(86_400)), default: parkAfter)
        parkProbeBase = section.duration(
            "park-probe-base",
            in: .milliseconds(100)...(.seconds(3600)),
            default: parkProbeBase
        )
        parkProbeCap = section.duration("park-probe-cap", in: .seconds(1)...(.seconds(86_400)), default: parkProbeCap)
        certificateGrace = section.duration(
            "certificate-grace",
            in: .seconds(1)...(.seconds(30 * 86_400)),
            default: certificateGrace
        )
        tokenState = section.boolean("token-state", default: tokenState)
        tombstoneFilter = section.boolean("tombstone-filter", default: tombstoneFilter)
        filterMaxAge = section.duration("filter-max-age", in: .seconds(1)...(.seconds(3600)), default: filterMaxAge)
        filterMemoryBytes = section.integer(
            "filter-memory",
            in: 1_048_576...1_099_511_627_776,
            default: filterMemoryBytes
        )
        dedupeWindow = section.duration("dedupe-window", in: .zero...(.seconds(86_400)), default: dedupeWindow)
        coalescingWindow = section.duration("coalescing-window", in: coalescingWindows, default: coalescingWindow)
        if dedupeWindow > .zero, !tokenState {
            section.report(
                "dedupe-window",
                section.origin(of: "dedupe-window"),
                found: DurationText.format(dedupeWindow),
                allowed: "nothing but 0s while worker.token-state is false: Redis remembers the requests"
            )
        }
        peerTimeout = section.duration("peer-timeout", in: .seconds(1)...(.seconds(300)), default: peerTimeout)
        requestTimeout = section.duration("request-timeout", in: .seconds(1)...(.seconds(300)), default: requestTimeout)
        if let patience = section.optionalDuration(
            "commit-patience",
            in: .seconds(1)...(.seconds(300)),
            default: commitPatience
        ) {
            commitPatience = patience
            if patience >= session {
                section.report(
                    "commit-patience",
                    section.origin(of: "commit-patience"),
                    found: DurationText.format(patience),
                    allowed: "less than session.timeout.ms of kafka.properties, \(DurationText.format(session))"
                )
            }
        }
        shardMemoryBytes = section.integer("shard-memory", in: memoryBytes, default: shardMemoryBytes)
        topicMemoryBytes = section.integer("topic-memory", in: memoryBytes, default: topicMemoryBytes)
        stopTimeout = section.duration("stop-timeout", in: .seconds(1)...(.seconds(3600)), default: stopTimeout)
        revokeDeadline = section.duration("revoke-deadline", in: .seconds(1)...(.seconds(300)), default: revokeDeadline)
        if backoffBase > backoffCap {
            section.report(
                "backoff-base",
                section.origin(of: "backoff-base"),
                found: DurationText.format(backoffBase),
                allowed: "at most worker.backoff-cap, \(DurationText.format(backoffCap))"
            )
        }
        if parkProbeBase > parkProbeCap {
            section.report(
                "park-probe-base",
                section.origin(of: "park-probe-base"),
                found: DurationText.format(parkProbeBase),
                allowed: "at most worker.park-probe-cap, \(DurationText.format(parkProbeCap))"
            )
        }
        section.reportUnknownKeys()
    }
}

extension RegistrarSettings {
    init(reading section: ConfigurationSection) {
        self.init()
        groupID = section.string("group-id", default: groupID)
        batch = section.integer("batch", in: 1...10_000, default: batch)
        section.reportUnknownKeys()
    }
}

extension HarvesterSettings {
    init(reading section: ConfigurationSection) {
        self.init()
        interval = section.duration("interval", in: .seconds(1)...(.seconds(86_400)), default: interval)
        lease = section.duration("lease", in: .seconds(5)...(.seconds(3600)), default: lease)
        connectTimeout = section.duration("connect-timeout", in: connectTimeouts, default: connectTimeout)
        section.reportUnknownKeys()
    }
}

/// Of a shard, and of one topic.
private let memoryBytes = 16_777_216...1_099_511_627_776

private let connectTimeouts = Duration.milliseconds(100)...(.seconds(300))

/// Of the worker, and of one topic.
let coalescingWindows = Duration.zero...(.seconds(30))
