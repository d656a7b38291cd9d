import RequestLanes

/// The choice of an operator for partitions that were read before and of which the group has no commit.
public enum FirstStartPolicy: String, Sendable, CaseIterable {
    /// The partition stands, with an alarm, until its offset is set.
    case stand
    /// The whole log is sent, again if need be.
    case beginning
    /// The log is left out.
    case end
}

/// Decides where a partition starts of which the group has no commit. Pure.
///
/// A fresh installation starts at the beginning of the log, without questions. But the broker forgets the commits of a
/// group without members (`offsets.retention.minutes`), and a group's name can be mistyped: the beginning would send
/// the whole log again. A mark that outlives the commits tells these from a fresh partition. Outcomes are no such sign:
/// a worker may have published some before a rebalance that let its first commit fail.
///
/// A lane's Kafka topic may be made long after the installation. Its partitions are fresh then: mark and commits name
/// the Kafka topic and the lane's group, and outcomes may all be those of other lanes.
public enum FirstStart {
    public enum Decision: Equatable, Sendable {
        case start(at: Int64)
        /// It was read before: an operator has to choose.
        case stands
        /// The mark is not known yet.
        case undecided
    }

    /// The mark that some worker has committed a position of the partition, in any group.
    public enum Mark: Equatable, Sendable {
        case missing
        case present
        case unknown
    }

    /// - Parameters:
    ///   - lane: the lane of the partition.
    ///   - low: the first offset of the log.
    ///   - high: one past its last offset.
    ///   - mark: of the partition.
    ///   - groupHasCommits: of other partitions of the lane.
    ///   - hasOutcomes: workers have published outcomes, of any lane, be it that they are deleted by now.
    ///   - sendsWithoutRedis: the operator has chosen to send while Redis is away; only a lane without commits and
    ///     outcomes then starts without the mark.
    public static func decide(
        lane: RequestLane = .normal,
        low: Int64,
        high: Int64,
        mark: Mark,
        groupHasCommits: Bool,
        hasOutcomes: Bool,
        sendsWithoutRedis: Bool = false,
        policy: FirstStartPolicy
    ) -> Decision {
        // Nothing is there that could be sent again.
        guard low < high, policy != .beginning else { return .start(at: low) }
        if mark == .present { return policy == .end ? .start(at: high) : .stands }
        // The log of a new lane begins at 0. Outcomes of earlier versions, which have no lanes, are the normal one's.
        let hasOwnOutcomes = hasOutcomes && (lane == .normal || low > 0)
        let isFresh = mark == .missing || sendsWithoutRedis && !groupHasCommits && !hasOwnOutcomes
        return isFresh ? .start(at: low) : .undecided
    }
}
