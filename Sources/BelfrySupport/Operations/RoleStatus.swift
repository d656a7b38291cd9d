/// The state of a role at one moment: the answer of `GET /status`, JSON.
///
/// A reader ignores keys that it does not know; ``version`` rises only when a key changes its meaning or goes.
/// Durations are seconds. What a role does not have is empty, or absent.
public struct RoleStatus: Codable, Sendable, Equatable {
    public static let currentVersion = 2

    /// Of this layout.
    public var version = RoleStatus.currentVersion
    /// `worker`, `registrar` or `harvester`.
    public var role: String
    /// Of the program.
    public var programVersion = BelfryVersion.text
    public var now: Time
    /// Since the start of the process; absent where the system does not tell.
    public var uptimeSeconds: Double?
    public var isReady = false
    /// Obstacles that keep the role from its work, and troubles that need a new start, in words for people.
    public var obstacles: [String] = []
    public var process: Process?
    /// Absent of a process that does not read its configuration again.
    public var configuration: Configuration?

    public var partitions: [Partition] = []
    /// The topics that most need a look come first; at most 200.
    public var topics: [Topic] = []
    /// Topics that are not in ``topics``.
    public var omittedTopics = 0
    /// Since push.controls was last known to be read to its end; absent of a role that does not read it.
    public var controlsAgeSeconds: Double?
    /// Of every environment, as configured.
    public var gateways: [Environment] = []
    /// The first to end comes first; at most 200.
    public var certificates: [Certificate] = []
    public var keys: [ProviderKey] = []
    /// The lists that were not read for longest come first; at most 200.
    public var harvests: [Harvest] = []
    /// Since the start, by name: what a page draws as throughput.
    public var totals: [String: Int] = [:]
    /// Notifications by outcome since the start.
    public var outcomes: [String: Int] = [:]
    /// Of each transport and class of topics that had notifications.
    public var delivery: [Delivery] = []
    /// Absent of a role that is not scaled by its lag.
    public var scaling: Scaling?

    /// - Parameter now: UNIX seconds.
    public init(role: String, now: Double) {
        self.role = role
        self.now = Time(unixSeconds: now)
    }
}
