import BelfrySupport
import PipelineCore
import ProviderCredentials

/// The state of a worker at one moment, for metrics.
struct WorkerReport: Sendable {
    let shards: [ShardReport]
    var certificates: [CertificateStore.Certificate]
    var providerTokens: [ProviderTokens.Report]
    /// Nil: there is none.
    var filter: Filter?
    /// Nil: they are not followed.
    var levers: Levers?
    /// The budget of new connections; nil: not known.
    var connectionBudget: ConnectionBudget.State?
    /// The retention of push.requests; nil: for ever, or not known.
    var retention: Duration?
    /// The time of the report; nil: not known.
    var unixMilliseconds: Int64?
    /// The choice of names.
    let labels: AppLabels
    /// The topics of all shards, under the names that they have in gauges.
    let shownTopics: [ShardReport.Topic]
    /// The same, under the names that they have in counters.
    let countedTopics: [ShardReport.Topic]

    /// The filter of dead tokens.
    struct Filter: Sendable, Equatable {
        /// The time since the filter was last complete; nil: it is not.
        var age: Duration?
        var entries: Int
        var bytes: Int
        /// Bundles whose filter was given up.
        var givenUp: Int
    }

    /// The levers of push.controls.
    struct Levers: Sendable, Equatable {
        /// The time since push.controls was last known to be read to its end; nil: it never was.
        var age: Duration?
        /// Levers that are set, by their kinds.
        var counts: [AppControl.Lever: Int]
    }

    /// - Parameter labels: the names chosen for these topics; nil: they are chosen for this report alone.
    init(
        shards: [ShardReport],
        certificates: [CertificateStore.Certificate] = [],
        providerTokens: [ProviderTokens.Report] = [],
        filter: Filter? = nil,
        levers: Levers? = nil,
        connectionBudget: ConnectionBudget.State? = nil,
        retention: Duration? = nil,
        unixMilliseconds: Int64? = nil,
        labels: AppLabels? = nil
    ) {
        self.shards = shards
        self.certificates = certificates
        self.providerTokens = providerTokens
        self.filter = filter
        self.levers = levers
        self.connectionBudget = connectionBudget
        self.retention = retention
        self.unixMilliseconds = unixMilliseconds
        let topics = shards.flatMap(\.topics)
        let labels = labels ?? AppLabels().chosen(for: topics)
        self.labels = labels
        shownTopics = topics.named(Set(labels.shown))
        countedTopics = topics.named(labels.namedInCounters)
    }

    /// The publishing time of the oldest record that is not done, UNIX milliseconds; nil when all are done.
    var oldestPublishedAt: Int64? { shards.compactMap(\.oldestPublishedAt).min() }

    /// The time until retention may delete the oldest record that is not done; below 0: it may have. Nil: all are done,
    /// or brokers keep records for ever.
    var retentionLeft: Duration? {
        guard let retention, let unixMilliseconds, let oldestPublishedAt else { return nil }
        return .milliseconds(oldestPublishedAt) + retention - .milliseconds(unixMilliseconds)
    }

    /// The certificates that end first have names of their own.
    var shownCertificates: [CertificateStore.Certificate] {
        let sorted = certificates.sorted {
            ($0.notAfter, $0.bundleID, $0.environment) < ($1.notAfter, $1.bundleID, $1.environment)
        }
        return sorted.enumerated().map { place, certificate in
            guard place >= AppLabels.limit else { return certificate }
            var other = certificate
            other.bundleID = AppLabels.other
            return other
        }
    }
}
