import Logging

/// A shard's counters since its start. They count everything, whatever is published.
struct WorkerCounters: Equatable, Sendable {
    var records = 0
    var undecodable = 0
    var notifications = 0
    var sent = 0
    /// Notifications of `sent` without a look at the token store, which was away.
    var sentWithoutState = 0
    /// Tokens that Redis was asked for.
    var lookUps = 0
    var deadLetters = 0
    /// Tokens whose state has an unknown form.
    var unreadableStates = 0
    var commits = 0
    /// Records that retention deleted before they were read.
    var recordsLost = 0
    /// Partitions found to end before their committed offset.
    var offsetsBeyondEnd = 0
    var outcomes = Outcomes()

    /// Notifications by their outcome.
    struct Outcomes: Equatable, Sendable {
        var confirmed = 0
        var presumed = 0
        var unknown = 0
        var rejected = 0
        var tombstoned = 0
        var expired = 0
        var superseded = 0
        var duplicate = 0
        var deadLettered = 0

        subscript(kind: OutcomeKind) -> Int {
            switch kind {
            case .confirmed: confirmed
            case .presumed: presumed
            case .unknown: unknown
            case .rejected: rejected
            case .tombstoned: tombstoned
            case .expired: expired
            case .superseded: superseded
            case .duplicate: duplicate
            case .deadLettered: deadLettered
            }
        }

        mutating func count(_ kind: OutcomeKind) {
            switch kind {
            case .confirmed: confirmed += 1
            case .presumed: presumed += 1
            case .unknown: unknown += 1
            case .rejected: rejected += 1
            case .tombstoned: tombstoned += 1
            case .expired: expired += 1
            case .superseded: superseded += 1
            case .duplicate: duplicate += 1
            case .deadLettered: deadLettered += 1
            }
        }
    }
}

extension WorkerCounters {
    /// The counters for a log line.
    ///
    /// - Parameter topics: the counters of each topic's connections.
    func metadata(_ topics: [WorkerTopicCounters]) -> Logger.Metadata {
        let answers = topics.reduce(0) { $0 + $1.errorResponses.values.reduce(0, +) }
        return [
            "records": .stringConvertible(records),
            "undecodable": .stringConvertible(undecodable),
            "notifications": .stringConvertible(notifications),
            "sent": .stringConvertible(sent),
            "sent-without-token-state": .stringConvertible(sentWithoutState),
            "resent": .stringConvertible(topics.reduce(0) { $0 + $1.resent }),
            "presumed-wrong": .stringConvertible(topics.reduce(0) { $0 + $1.presumedWrong }),
            "dead-letters": .stringConvertible(deadLetters),
            "unreadable-states": .stringConvertible(unreadableStates),
            "connects": .stringConvertible(topics.reduce(0) { $0 + $1.connects }),
            "error-responses": .stringConvertible(answers),
            "commits": .stringConvertible(commits),
            "records-lost": .stringConvertible(recordsLost),
            "offsets-beyond-end": .stringConvertible(offsetsBeyondEnd),
            "confirmed": .stringConvertible(outcomes.confirmed),
            "presumed": .stringConvertible(outcomes.presumed),
            "unknown": .stringConvertible(outcomes.unknown),
            "rejected": .stringConvertible(outcomes.rejected),
            "tombstoned": .stringConvertible(outcomes.tombstoned),
            "expired": .stringConvertible(outcomes.expired),
            "superseded": .stringConvertible(outcomes.superseded),
            "duplicate": .stringConvertible(outcomes.duplicate),
            "dead-lettered": .stringConvertible(outcomes.deadLettered),
        ]
    }
}
