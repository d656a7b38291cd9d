import BelfrySupport
import RequestLanes

/// The load that an installation is planned for.
public struct CapacityDemand: Sendable, Equatable {
    /// The interface to the push service.
    public enum Transport: String, Sendable, CaseIterable {
        case binary
        case http2
    }

    /// A send that is to be over in time.
    public struct Send: Sendable, Equatable {
        public var notifications: Int
        public var seconds: Int

        public init(notifications: Int, seconds: Int) {
            self.notifications = notifications
            self.seconds = seconds
        }
    }

    private static let rates = 1...10_000_000
    private static let notifications = 1...100_000_000_000
    /// A month at most.
    private static let seconds = 1...2_592_000

    /// Notifications a second at the busiest time.
    public var rate: Int
    /// The send that ``rate`` comes from; nil: the rate may last.
    public var send: Send?
    /// Registered tokens.
    public var tokens: Int
    /// Bundles by environment.
    public var topics: Int
    public var transport = Transport.http2
    public var tokensPerRecord = 1
    public var payloadBytes = 200
    /// Between the workers and the push service.
    public var roundTripMilliseconds = 40
    /// Every token is looked up in Redis: no filter of dead tokens, request ids that are remembered, badges.
    public var asksRedis = false
    /// The workers make the payloads, in several languages.
    public var isLocalized = false
    /// Tokens that are known to be dead; nil: a tenth of all.
    public var deadTokens: Int?
    /// Of a worker, for a notification; nil: as measured.
    public var cpuMicroseconds: Double?
    /// Threads of a worker process in each lane, each on a core that it shares with those of the other lanes.
    public var shards = WorkerSettings().shards
    /// Lanes that the workers serve; the rate is that of all together.
    public var lanes: Set<RequestLane> = [.normal]
    /// Replicas of each partition in Kafka.
    public var replication = 3
    /// Time for which Kafka keeps push.requests.
    public var retentionHours = 24

    public init(rate: Int, tokens: Int, topics: Int) {
        self.rate = rate
        self.tokens = tokens
        self.topics = topics
    }

    /// - Parameter send: one in each retention time, to one bundle or to all together.
    public init(send: Send, tokens: Int, topics: Int) {
        // A send that is out of its range has no rate.
        let isAllowed = Self.notifications.contains(send.notifications) && Self.seconds.contains(send.seconds)
        let rate = isAllowed ? (send.notifications + send.seconds - 1) / send.seconds : 1
        self.init(rate: rate, tokens: tokens, topics: topics)
        self.send = send
    }

    /// A line for each value that is out of its range; empty: a plan can be made.
    public var faults: [String] {
        var faults: [String] = []
        func check(_ option: String, _ value: Int, _ range: ClosedRange<Int>) {
            if !range.contains(value) { faults.append("--\(option): found \(value); allowed: \(range.allowedText)") }
        }
        if let send {
            check("notifications", send.notifications, Self.notifications)
            check("within", send.seconds, Self.seconds)
            if faults.isEmpty, !Self.rates.contains(rate) {
                faults.append("--notifications in --within: \(rate) a second; allowed: \(Self.rates.allowedText)")
            }
        } else {
            check("rate", rate, Self.rates)
        }
        check("tokens", tokens, 1...100_000_000_000)
        check("apps", topics, 1...1_000_000)
        check("tokens-per-record", tokensPerRecord, 1...20_000)
        check("payload-bytes", payloadBytes, 1...5120)
        check("round-trip-ms", roundTripMilliseconds, 1...10_000)
        check("dead-tokens", deadTokens ?? 0, 0...100_000_000_000)
        check("shards", shards, 1...256)
        check("lanes", lanes.count, 1...RequestLane.allCases.count)
        check("replication", replication, 1...9)
        check("retention-hours", retentionHours, 1...2160)
        // Not a number is in no range.
        if let cpuMicroseconds, !(0.01...100).contains(cpuMicroseconds) {
            faults.append("--cpu-us: found \(cpuMicroseconds); allowed: 0.01...100")
        }
        return faults
    }
}
