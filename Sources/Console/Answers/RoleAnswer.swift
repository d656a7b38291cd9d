import BelfrySupport

/// The answer of a process to `GET /status`, as far as the page needs it, with every number and text within bounds.
///
/// Keys that an older or newer program does not have are left out; a value of another kind than expected spoils the
/// answer. Counts are not negative, whatever was answered.
struct RoleAnswer: Equatable, Sendable {
    struct Partition: Equatable, Sendable {
        var kafkaTopic: String
        var number: Int
        var lagRecords: Int?
        var waitingRecords: Int?
        var behindTopics = 0
        var isStanding = false
    }

    /// A bundle in an environment.
    struct TopicName: Hashable, Sendable {
        var topic: String
        var environment: String
    }

    struct Topic: Equatable, Sendable {
        var name: TopicName
        var stoppedBecause: String?
        var isPaused = false
        /// Lanes with the lever, in the order of ``RoleAnswer/lanes``; empty where it is set: not told.
        var pausedLanes: [String] = []
        /// Notifications per second; nil: no limit.
        var pace: Int?
        /// Likewise.
        var pacedLanes: [String] = []
        /// A time as it was answered; nil: nothing is discarded.
        var discardsBefore: String?
        /// Likewise.
        var discardingLanes: [String] = []
        var lagRecords = 0
        /// Lanes in which it has cursors of its own, in the order of ``RoleAnswer/lanes``.
        var laggingLanes: [String] = []
        var cursorAgeSeconds: Double?
        var oldestUnconfirmedSeconds: Double?
        var inFlight = 0
        var waiting = 0
        var openConnections = 0
        var accepted = 0
    }

    struct Gateways: Equatable, Sendable {
        var environment: String
        var transport: String
        var addresses: [String]
        /// By state.
        var connections: [String: Int]
    }

    struct Certificate: Equatable, Sendable {
        var name: TopicName
        var daysLeft: Int
    }

    struct Key: Equatable, Sendable {
        var team: String
        var key: String
        var tokenAgeSeconds: Double
    }

    struct Harvest: Equatable, Sendable {
        var name: TopicName
        var ageSeconds: Double
        var step: String
        var holdsLease: Bool
    }

    /// Answers leave its name out.
    static let normalLane = "normal"
    /// The lanes of requests that this console knows, in the order in which they are shown.
    static let lanes = ["urgent", normalLane, "bulk"]

    var role: String
    var programVersion = ""
    var uptimeSeconds: Double?
    var isReady = false
    var obstacles: [String] = []
    var residentBytes: Int?
    var cpuSeconds: Double?
    var openDescriptors: Int?
    /// Keys of the configuration read last that need a restart.
    var restartNeeded: [String] = []
    var partitions: [Partition] = []
    var topics: [Topic] = []
    var omittedTopics = 0
    /// Since push.controls was last known to be read to its end; nil: the role does not read it, or does not say.
    var controlsAgeSeconds: Double?
    var gateways: [Gateways] = []
    var certificates: [Certificate] = []
    var keys: [Key] = []
    var harvests: [Harvest] = []
    var totals: [String: Int] = [:]
    var outcomes: [String: Int] = [:]
    /// Of the ways that this console knows, since the process's start.
    var delivery: [DeliveryCounts.Way: DeliveryCounts] = [:]
    /// Records taken in per second, by the process's own word; nil for a role that is not scaled.
    var recordsPerSecond: Double?

    init(role: String) { self.role = role }
}
