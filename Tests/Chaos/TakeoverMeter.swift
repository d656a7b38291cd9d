import KafkaClient

/// Measures for how long work stands still when a member of a group is killed, or told to stop: from the signal until
/// another member has committed a position of the partition, which is the first change after the member has ended.
///
/// Time counts only while something waits in the partition, and while every server is there and has been for a while.
/// Pure: times are durations since the beginning of the run, and do not fall from call to call.
struct TakeoverMeter: Sendable {
    enum Signal: String, CaseIterable, Sendable {
        case kill
        case stop

        /// Longest takeover that is allowed. A group hears of a kill when the session of the member ends.
        ///
        /// - Parameter session: the group's session time-out.
        func limit(session: Duration) -> Duration {
            switch self {
            case .kill: session + .seconds(10)
            case .stop: .seconds(15)
            }
        }
    }

    struct Takeover: Equatable, Sendable {
        var member: String
        var signal: Signal
        var place: KafkaTopicPartition
        /// The member had the partition; else it stood by, or that was not known.
        var heldPlace = true
        /// The time that counts.
        var time = Duration.zero
    }

    /// One that is under way.
    private struct Open: Sendable {
        var takeover: Takeover
        /// The time until here is counted.
        var countedTo: Duration
        var hasEnded = false
        /// The committed position after the member has ended.
        var baseline: Int64?
        var isFinished = false
    }

    /// Takeovers that have come to their end.
    private(set) var finished: [Takeover] = []
    private var open: [Open] = []
    /// Partitions in which something waited at the last look.
    private var waiting: Set<KafkaTopicPartition> = []
    /// From this time on servers are there and have been for a while; nil: one is away.
    private var calmSince: Duration? = .zero
    let session: Duration

    /// - Parameter session: the groups' session time-out.
    init(session: Duration) {
        self.session = session
    }

    // MARK: Entering

    /// A member is about to be signalled.
    ///
    /// - Parameters:
    ///   - places: the partitions of its group.
    ///   - holds: the member has them.
    mutating func signalled(
        _ member: String,
        by signal: Signal,
        _ places: [KafkaTopicPartition],
        holds: Bool,
        now: Duration
    ) {
        open += places.map {
            Open(takeover: Takeover(member: member, signal: signal, place: $0, heldPlace: holds), countedTo: now)
        }
    }

    /// A member that was signalled has ended: no position is its any more.
    mutating func ended(_ member: String) {
        for index in open.indices where open[index].takeover.member == member { open[index].hasEnded = true }
    }

    /// A server is away: no member could take over.
    mutating func serverLeft() {
        calmSince = nil
    }

    /// All servers are there.
    ///
    /// - Parameter settling: time that clients have to find them and groups to form.
    mutating func serversReturned(now: Duration, settling: Duration) {
        calmSince = now + settling
    }

    /// A look at a partition.
    ///
    /// - Parameters:
    ///   - committed: the group's position; negative: none.
    ///   - end: one past the newest record.
    mutating func look(_ place: KafkaTopicPartition, committed: Int64, end: Int64, now: Duration) {
        let waited = waiting.contains(place)
        for index in open.indices where open[index].takeover.place == place {
            if waited { open[index].takeover.time += counted(from: open[index].countedTo, to: now) }
            open[index].countedTo = now
            guard open[index].hasEnded, committed >= 0 else { continue }
            // A position may also fall: what was applied lately is applied again.
            if let baseline = open[index].baseline {
                open[index].isFinished = baseline != committed
            } else {
                open[index].baseline = committed
            }
        }
        finished += open.filter(\.isFinished).map(\.takeover)
        open.removeAll(where: \.isFinished)
        if max(0, committed) < end { waiting.insert(place) } else { waiting.remove(place) }
    }

    private func counted(from start: Duration, to end: Duration) -> Duration {
        guard let calmSince else { return .zero }
        return max(.zero, end - max(start, calmSince))
    }

    // MARK: The result

    /// The longest takeover; one that is still under way counts for as long as it takes already. Nil: no member was
    /// signalled.
    var longest: Duration? { all.map(\.time).max() }

    /// Signals after which no member was seen to take over from a member that had its partition.
    var unmeasured: [Signal] {
        Signal.allCases.filter { signal in !finished.contains { $0.signal == signal && $0.heldPlace } }
    }

    /// Takeovers that took, or take, too long.
    var late: [Takeover] { all.filter { $0.time > $0.signal.limit(session: session) } }

    private var all: [Takeover] { finished + open.map(\.takeover) }
}
