import RequestLanes

/// The levers that an operator has set for one topic: those of a scope, or those that hold in a lane.
///
/// Each is a record of push.controls, and holds until it is changed.
public struct AppControl: Equatable, Sendable {
    /// The end of a topic's waiting requests without sending.
    ///
    /// A later request is safe twice over: by its time, and by its offset, should a publisher's clock be wrong.
    public struct Discard: Equatable, Sendable {
        /// Requests published before this time end, UNIX milliseconds.
        public var publishedBefore: Int64
        /// The ends of the partitions of a lane's Kafka topic when the order was given: nothing from there on is meant.
        public var ends: [Int32: Int64]

        public init(publishedBefore: Int64, ends: [Int32: Int64]) {
            self.publishedBefore = publishedBefore
            self.ends = ends
        }

        /// - Parameter publishedAt: UNIX milliseconds; nil: the log does not tell, and the record is kept.
        public func covers(partition: Int32, offset: Int64, publishedAt: Int64?) -> Bool {
            guard let publishedAt, publishedAt < publishedBefore else { return false }
            return mayCover(partition: partition, offset: offset)
        }

        /// A record at the offset was there when the order was given.
        public func mayCover(partition: Int32, offset: Int64) -> Bool {
            guard let end = ends[partition] else { return false }
            return offset < end
        }
    }

    /// Nothing of the topic is sent.
    public var isPaused = false
    /// Most notifications of the topic in a second in each lane, of all workers together; nil: no limit.
    public var notificationsPerSecond: UInt32?
    /// Nil: nothing was discarded.
    public var discard: Discard?

    public init(isPaused: Bool = false, notificationsPerSecond: UInt32? = nil, discard: Discard? = nil) {
        self.isPaused = isPaused
        self.notificationsPerSecond = notificationsPerSecond
        self.discard = discard
    }

    /// Not everything of the topic may be sent at once.
    public var slowsDown: Bool { isPaused || notificationsPerSecond != nil }

    /// Applies one lever; nil: it is off.
    public mutating func set(_ lever: Lever, _ setting: Setting?) {
        switch (lever, setting) {
        case (.pause, .pause): isPaused = true
        case (.pause, _): isPaused = false
        case (.pace, .pace(let rate)): notificationsPerSecond = rate
        case (.pace, _): notificationsPerSecond = nil
        case (.discard, .discard(let order)): discard = order
        case (.discard, _): discard = nil
        }
    }

    /// The kinds of levers. The raw value is its name in record keys and on the command line.
    public enum Lever: String, CaseIterable, Sendable {
        case pause
        case pace
        case discard

        /// A lever that names no lane holds in a lane, unless that has one of its own.
        public func holds(in lane: RequestLane) -> Bool {
            switch self {
            case .pause: true
            // A pace spreads a campaign over time; what is urgent does not wait for that.
            case .pace: lane != .urgent
            // It has the ends of partitions, which are those of push.requests.
            case .discard: lane == .normal
            }
        }

        /// The lane that a record of this lever names to hold in one lane alone; nil: it names none.
        public func named(for lane: RequestLane) -> RequestLane? {
            self == .discard && lane == .normal ? nil : lane
        }
    }

    /// A lever that is set.
    public enum Setting: Equatable, Sendable {
        case pause
        case pace(notificationsPerSecond: UInt32)
        case discard(Discard)

        public var lever: Lever {
            switch self {
            case .pause: .pause
            case .pace: .pace
            case .discard: .discard
            }
        }
    }
}
