import PipelineCore

/// Limits of the memory for records with fabricated keys.
struct AppLimits: Sendable {
    /// Most bundles without a certificate that have a topic.
    var withoutCertificate = 100
    /// Most further bundles that have cursors of their own; the rest share ``AppHash/others``.
    var uncertified = 16_384
    /// Most bundles whose only credential is their team's default key: publishers can make up such names. Bundles that
    /// the operator names, by a certificate or under `topics`, do not count. [ours]
    var onDefaultKey = 2000
    /// Most topics of a partition with cursors of their own whose records are refused. [ours]
    var refused = 1000
    /// Most topics, as many as a ``StreamTicket`` tells apart. The bundles beyond wait.
    var topics = StreamTicket.mostQueues
}
