import PushSchemas
import RequestLanes

/// The books: what was published, and what became of it, deduplicated by source coordinates.
public struct Books: Sendable {
    /// Place of a notification: its record's place, and the token's position in it.
    public struct Coordinates: Hashable, Sendable {
        public var lane: RequestLane
        public var partition: Int32
        public var offset: Int64
        public var token: UInt32

        public init(lane: RequestLane = .normal, partition: Int32, offset: Int64, token: UInt32) {
            self.lane = lane
            self.partition = partition
            self.offset = offset
            self.token = token
        }
    }

    /// Notifications published, by what the broker acknowledged.
    public private(set) var published = 0
    /// Outcome by notification; the first word counts.
    public private(set) var outcomes: [Coordinates: PushOutcomeKind] = [:]
    /// Rejected notifications by reason.
    public private(set) var rejections: [String: Int] = [:]
    /// Outcome messages about notifications that had one already.
    public private(set) var repeated = 0

    public init() {}

    public mutating func publish(notifications: Int) {
        published += notifications
    }

    /// - Parameter lane: that of the request.
    public mutating func noteOutcome(_ outcome: PushOutcome, in lane: RequestLane = .normal) {
        let coordinates = Coordinates(
            lane: lane,
            partition: outcome.sourcePartition,
            offset: outcome.sourceOffset,
            token: outcome.tokenIndex
        )
        if outcomes[coordinates] == nil {
            outcomes[coordinates] = outcome.kind
            if outcome.kind == .rejected { rejections[outcome.reason, default: 0] += 1 }
        } else {
            repeated += 1
        }
    }

    /// Published and without an outcome.
    public var missing: Int { published - outcomes.count }

    public func count(_ kind: OutcomeKind) -> Int {
        let message = kind.message
        return outcomes.values.reduce(0) { $0 + ($1 == message ? 1 : 0) }
    }

    /// Notifications that the gateway accepted, by the worker's word.
    public var claimed: Int {
        OutcomeKind.allCases.filter(\.isAcceptance).reduce(0) { $0 + count($1) }
    }
}
