/// `event: fleet`: all that the page shows, but for the history, of which it has the latest slots.
struct FleetDocument: Encodable, Equatable, Sendable {
    struct Process: Encodable, Equatable, Sendable {
        enum State: String, Encodable, Sendable {
            case new, answers, away, gone
        }

        let address: String
        let state: State
        /// Nil: it never answered.
        let role: String?
        let programVersion: String?
        let isReady: Bool
        let obstacles: [String]
        /// Of a process that is away: the reason.
        let trouble: String?
        /// Since its last answer.
        let silenceSeconds: Double?
        let uptimeSeconds: Double?
        let residentBytes: Int?
        let openDescriptors: Int?
        /// Keys of its configuration that need a restart.
        let restartNeeded: [String]
        /// Since it last knew all levers; nil: it has nothing to do with them.
        let controlsAgeSeconds: Double?
        let cores: Double
        /// Notifications sent, or registrations and tuples applied, per second.
        let perSecond: Double
        let partitions: Int
    }

    struct Rates: Encodable, Equatable, Sendable {
        var records = 0.0
        var notifications = 0.0
        var sent = 0.0
        var accepted = 0.0
        var failed = 0.0
        var spared = 0.0
        var deadLetters = 0.0
        var misplaced = 0.0
        /// Processor cores of the workers.
        var cores = 0.0
    }

    struct Outcome: Encodable, Equatable, Sendable {
        enum Meaning: String, Encodable, Sendable {
            case accepted, spared, failed
        }

        let name: String
        let meaning: Meaning
        let perSecond: Double
        let lastHour: Int
    }

    /// Times of the last minute over one transport, seconds.
    struct Delivery: Encodable, Equatable, Sendable {
        struct Times: Encodable, Equatable, Sendable {
            let median: Double
            let percentile99: Double

            /// Nil: no notification.
            init?(_ counts: TimeCounts) {
                guard let median = counts.quantile(0.5), let percentile99 = counts.quantile(0.99) else { return nil }
                self.median = median
                self.percentile99 = percentile99
            }
        }

        let transport: String
        let topicClass: String
        /// From their publishing to the gateway.
        let handedOver: Times?
        /// From there to their outcomes.
        let settled: Times?
    }

    struct Partition: Encodable, Equatable, Sendable {
        let kafkaTopic: String
        let number: Int
        let lagRecords: Int?
        let waitingRecords: Int?
        let behindTopics: Int
        let isStanding: Bool
        /// Addresses; more than one while it moves.
        let holders: [String]
        /// Nil: it has a holder.
        let unheldSeconds: Double?
    }

    struct Topic: Encodable, Equatable, Sendable {
        let topic: String
        let environment: String
        let stoppedBecause: String?
        /// The reason in words.
        let why: String?
        /// The processes that say so.
        let stoppedAt: Int
        /// By an operator's order, in one process at least.
        let isPaused: Bool
        /// Lanes with the lever; empty where it is set: all, or the workers do not say.
        let pausedLanes: [String]
        /// Most notifications per second of all workers together; nil: no limit.
        let pace: Int?
        /// Likewise.
        let pacedLanes: [String]
        /// Requests published before this time are discarded; nil: none.
        let discardsBefore: String?
        /// Likewise.
        let discardingLanes: [String]
        let lagRecords: Int
        /// Lanes in which it lags.
        let laggingLanes: [String]
        let cursorAgeSeconds: Double?
        let oldestUnconfirmedSeconds: Double?
        let inFlight: Int
        let waiting: Int
        let openConnections: Int
        let acceptedPerSecond: Double
    }

    struct Gateways: Encodable, Equatable, Sendable {
        let environment: String
        let transport: String
        let addresses: [String]
        let connections: [String: Int]
    }

    struct Certificate: Encodable, Equatable, Sendable {
        let topic: String
        let environment: String
        let daysLeft: Int
    }

    struct Key: Encodable, Equatable, Sendable {
        let team: String
        let key: String
        let tokenAgeSeconds: Double
    }

    struct Harvest: Encodable, Equatable, Sendable {
        let topic: String
        let environment: String
        let ageSeconds: Double
        let step: String
        /// Nil: no process has the lease at the moment.
        let holder: String?
    }

    /// UNIX seconds.
    let at: Double
    var attention: [Attention] = []
    let processes: [Process]
    let rates: Rates
    let outcomes: [Outcome]
    let delivery: [Delivery]
    let partitions: [Partition]
    let waitingRecords: Int
    let lagRecords: Int
    let oldestUnconfirmedSeconds: Double?
    /// Since the last answer of any worker: topics, lag and waiting are of then. Nil: one answers, or none is known.
    let workersSilentSeconds: Double?
    let topics: [Topic]
    let omittedTopics: Int
    let gateways: [Gateways]
    let certificates: [Certificate]
    let keys: [Key]
    let harvests: [Harvest]
    let advice: Advice
    let history: HistoryDocument

    init(
        at: Double,
        processes: [Process],
        view: FleetView,
        outcomes: [Outcome],
        delivery: [Delivery],
        advice: Advice,
        history: HistoryDocument
    ) {
        self.at = at
        self.processes = processes
        self.outcomes = outcomes
        self.delivery = delivery
        self.advice = advice
        self.history = history
        rates = view.rates
        partitions = view.partitions
        waitingRecords = view.waitingRecords
        lagRecords = view.lagRecords
        workersSilentSeconds = view.workersSilentSeconds
        oldestUnconfirmedSeconds = view.topics.compactMap(\.oldestUnconfirmedSeconds).max()
        topics = Array(view.topics.prefix(ConsoleLimits.rows))
        omittedTopics = view.omittedTopics + max(0, view.topics.count - ConsoleLimits.rows)
        gateways = view.gateways
        certificates = Array(view.certificates.prefix(ConsoleLimits.rows))
        keys = Array(view.keys.prefix(ConsoleLimits.rows))
        harvests = Array(view.harvests.prefix(ConsoleLimits.rows))
    }
}
