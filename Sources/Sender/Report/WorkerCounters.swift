import Logging
import PushSchemas

/// A shard's counters since its start. They count everything, be it published or not.
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
    /// Fetches whose bytes could not be read.
    var corruptFetches = 0
    /// Publications of which less was published, because the brokers refused them.
    var cut = 0
    var outcomes = Outcomes()

    /// Notifications by their outcome.
    struct Outcomes: Equatable, Sendable {
        private var counts = [Int](repeating: 0, count: OutcomeKind.allCases.count)

        subscript(kind: OutcomeKind) -> Int { counts[kind.rawValue] }

        mutating func count(_ kind: OutcomeKind, _ notifications: Int = 1) {
            counts[kind.rawValue] += notifications
        }
    }
}

extension WorkerCounters {
    /// The counters for a log line.
    ///
    /// - Parameter topics: the counters of each topic's connections.
    func metadata(_ topics: [WorkerAppCounters]) -> Logger.Metadata {
        let answers = topics.reduce(0) { $0 + $1.errorResponses.values.reduce(0, +) }
        var metadata: Logger.Metadata = [
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
            "corrupt-fetches": .stringConvertible(corruptFetches),
        ]
        for kind in OutcomeKind.allCases {
            metadata[kind.name.replacing("_", with: "-")] = .stringConvertible(outcomes[kind])
        }
        return metadata
    }
}

/// Notifications of a shard by their outcomes, and dead letters.
struct OutcomeCounters: Equatable, Sendable {
    var outcomes = WorkerCounters.Outcomes()
    var deadLetters = 0
}
