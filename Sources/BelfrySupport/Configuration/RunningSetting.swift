import PipelineCore

/// A setting that a role applies while it runs, when it reads its configuration again.
///
/// All others need a new start. Deploy/CONFIGURATION.md has the same table.
package struct RunningSetting: Sendable {
    /// The key's path; `<bundle>` stands for any bundle.
    package let key: String
    /// The roles that apply it.
    package let roles: Set<String>
    /// Makes the value in a configuration that of another one.
    private let copy: @Sendable (_ source: BelfryConfiguration, _ target: inout BelfryConfiguration) -> Void

    /// The sections that every role reads.
    package static let commonSections: Set = ["kafka", "redis", "environments", "operations", "log"]
    private static let everyRole: Set = ["worker", "registrar", "harvester"]

    /// In the order of the document.
    package static let all: [RunningSetting] = [
        RunningSetting("outcomes", \.outcomes, of: ["worker"]),
        .ofTopic("unknown-fate", \.unknownFate),
        .ofTopic("payload-limit", \.payloadLimitBytes),
        .ofTopic("spread", \.spread),
        .ofTopic("coalescing-window", \.coalescingWindow),
        .ofTopic("sensitive-data", \.sensitiveData),
        .ofWorker("unknown-fate", \.unknownFate),
        .ofWorker("max-uncommitted", \.maxUncommitted),
        .ofWorker("shard-memory", \.shardMemoryBytes),
        .ofWorker("topic-memory", \.topicMemoryBytes),
        .ofWorker("request-timeout", \.requestTimeout),
        .ofWorker("sentinel-timeout", \.sentinelTimeout),
        .ofWorker("processing-attempts", \.processingAttempts),
        .ofWorker("retry-for", \.retryFor),
        .ofWorker("invalid-token-share", \.invalidTokenShare),
        .ofWorker("invalid-token-sample", \.invalidTokenSample),
        .ofWorker("connections-per-minute", \.connectionsPerMinute),
        .ofWorker("park-after", \.parkAfter),
        .ofWorker("park-probe-base", \.parkProbeBase),
        .ofWorker("park-probe-cap", \.parkProbeCap),
        .ofWorker("coalescing-window", \.coalescingWindow),
        .ofWorker("stop-timeout", \.stopTimeout),
        .ofWorker("revoke-deadline", \.revokeDeadline),
        RunningSetting("retention.rate", \.retention.rate, of: ["registrar"]),
        RunningSetting("harvester.interval", \.harvester.interval, of: ["harvester"]),
        RunningSetting("log.level", \.logLevel, of: everyRole),
    ]

    private init<Value>(
        _ key: String,
        _ path: any WritableKeyPath<BelfryConfiguration, Value> & Sendable,
        of roles: Set<String>
    ) {
        self.key = key
        self.roles = roles
        copy = { source, target in target[keyPath: path] = source[keyPath: path] }
    }

    private init(_ key: String, _ copy: @escaping @Sendable (BelfryConfiguration, inout BelfryConfiguration) -> Void) {
        self.key = key
        roles = ["worker"]
        self.copy = copy
    }

    private static func ofWorker<Value>(
        _ name: String,
        _ path: any WritableKeyPath<WorkerSettings, Value> & Sendable
    ) -> RunningSetting {
        RunningSetting("worker." + name) { source, target in
            target.worker[keyPath: path] = source.worker[keyPath: path]
        }
    }

    private static func ofTopic<Value>(
        _ name: String,
        _ path: any WritableKeyPath<TopicOverrides, Value> & Sendable
    ) -> RunningSetting {
        RunningSetting(Self.topics + "<bundle>." + name) { source, target in
            for bundleID in target.topics.keys {
                target.topics[bundleID]?[keyPath: path] = (source.topics[bundleID] ?? TopicOverrides())[keyPath: path]
            }
        }
    }

    private static let topics = "topics."

    /// A role takes the value of a key, such as `topics.com.example.news.spread`, while it runs.
    static func isApplied(_ key: String, by role: String) -> Bool {
        all.contains { $0.roles.contains(role) && $0.matches(key) }
    }

    private func matches(_ key: String) -> Bool {
        guard self.key.hasPrefix(Self.topics) else { return self.key == key }
        return key.hasPrefix(Self.topics) && Self.lastName(of: key) == Self.lastName(of: self.key)
    }

    private static func lastName(of key: String) -> Substring? { key.split(separator: ".").last }

    /// A configuration with the values of another one that a role applies while it runs, and its own of all others.
    static func apply(
        _ changed: BelfryConfiguration,
        to present: BelfryConfiguration,
        by role: String
    )
        -> BelfryConfiguration
    {
        var result = present
        let settings = all.filter { $0.roles.contains(role) }
        if settings.contains(where: { $0.key.hasPrefix(topics) }) {
            // That a bundle has an entry means something, too.
            for bundleID in changed.topics.keys where result.topics[bundleID] == nil {
                result.topics[bundleID] = TopicOverrides()
            }
        }
        for setting in settings { setting.copy(changed, &result) }
        result.topics = result.topics.filter { bundleID, own in
            changed.topics[bundleID] != nil || own != TopicOverrides()
        }
        return result
    }
}
