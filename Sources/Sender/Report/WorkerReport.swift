import BelfrySupport

/// The state of a worker at one moment, for metrics.
struct WorkerReport: Sendable {
    var shards: [ShardReport]
    var certificates: [CertificateStore.Certificate] = []
    var providerTokens: [ProviderTokens.Report] = []
    /// Nil: there is none.
    var filter: Filter?
    /// The retention of push.requests; nil: for ever, or not known.
    var retention: Duration?

    /// The filter of dead tokens.
    struct Filter: Sendable, Equatable {
        /// The time since the filter was last complete; nil: it is not.
        var age: Duration?
        var entries: Int
        var bytes: Int
        /// Bundles whose filter was given up.
        var givenUp: Int
    }
}
