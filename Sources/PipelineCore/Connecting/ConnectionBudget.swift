import RequestLanes

/// A limit on new connections per minute, shared fairly between the topics that wait.
///
/// The service treats rapid connecting as denial of service ([10]). The budget applies to every connection that is
/// opened again, also to those that follow an answered error, which need no back-off. No minute, wherever it begins,
/// has more grants than the limit. Half of them may come at once, the others come evenly, so that a busy minute does
/// not end in a standstill. A first connection is paced, not charged: a start is no reconnect storm, and must not use
/// up the grants that reconnects need. Each lane has a pace of its own, so that none waits behind the first connections
/// of another: 20 at once, then 20 a second. In all that is 60 at once, then 60 a second, at most.
///
/// A free grant goes to the most urgent lane that waits for it, but each lane that waits gets at least every tenth, see
/// ``LaneTurns``. Within the lane it goes to the waiting topic with the fewest grants of the last minute there, so that
/// a topic that reconnects all the time gets no more than the others leave. A topic waits in each of its lanes by
/// itself, and its grants in one do not count in another. It waits by asking: it asks again at the time it was told,
/// and counts as waiting until ``patience`` after that.
public struct ConnectionBudget: Sendable {
    /// The reason for a connection.
    public enum Purpose: Sendable, CaseIterable {
        /// The first in its place: paced, not charged.
        case first
        /// Replaces a connection that has ended.
        case reconnect
        /// Replaces a connection that still works, or one that is kept warm, so it can wait: granted out of the first
        /// half of a minute's budget only.
        case successor
        /// Tries a topic that does not work: at most a quarter of a minute's budget.
        case probe
    }

    /// A topic in one of its lanes.
    struct Asker: Hashable, Sendable {
        var lane: RequestLane
        var topic: UInt64
    }

    private struct Grant {
        var time: MonotonicTime
        var asker: Asker
    }

    struct Wait {
        /// First asked.
        var since: MonotonicTime
        /// No longer waits after this time, unless it asks again.
        var until: MonotonicTime
    }

    /// The state of a topic in one of its lanes.
    struct Topic {
        /// Grants within the last minute.
        var charged = 0
        /// The last one of them.
        var lastGrant: MonotonicTime?
        var reconnect: Wait?
        var successor: Wait?
        var probe: Wait?
    }

    /// The topics of a lane that wait for a purpose.
    private struct Line: Hashable {
        var lane: RequestLane
        var purpose: Purpose
    }

    /// A topic's place in a line: fewest grants first, then longest without one.
    private struct Place: Comparable {
        var charged: Int
        var since: MonotonicTime
        var topic: UInt64

        static func < (left: Place, right: Place) -> Bool {
            (left.charged, left.since, left.topic) < (right.charged, right.since, right.topic)
        }
    }

    /// The purposes that are charged and waited for.
    private static let charged: [Purpose] = [.reconnect, .successor, .probe]
    private static let minute = Duration.seconds(60)
    /// A topic that has to wait for its turn asks again after this time.
    private static let askAgain = Duration.milliseconds(20)
    /// A topic that is later than this for the time it was told no longer waits.
    static let patience = Duration.milliseconds(500)
    /// First connections of a lane: 20 a second, 20 at once.
    private static let firstSpacing = Duration.milliseconds(50)
    private static let firstBurst = 20

    private var perMinute: Int
    private var probesPerMinute: Int { max(1, perMinute / 4) }
    private var spacing: Duration { Self.minute / perMinute }
    /// Charged grants of the last minute, oldest first.
    private var grants: [Grant] = []
    /// The charged grants that went to probes.
    private var probes: [MonotonicTime] = []
    /// The next grant's time if the remaining grants come evenly until the oldest no longer counts.
    private var nextEven = MonotonicTime(nanoseconds: 0)
    private(set) var topics: [Asker: Topic] = [:]
    /// Every topic that waits for a purpose stands in the line of its lane, at its present place. Places that it had
    /// before are skipped when they come to the front.
    private var lines: [Line: BinaryHeap<Place>] = [:]
    private var turns = LaneTurns()
    private var sweepSteps = 0
    /// Steps of work, ever: the cost of asking.
    var steps: Int { lines.values.reduce(sweepSteps) { $0 + $1.steps } }
    private var sweepsAt = MonotonicTime(nanoseconds: 0)
    /// The time at which the whole burst of a lane's first connections is available again.
    private var burstIsWhole: [RequestLane: MonotonicTime] = [:]

    /// - Parameter perMinute: charged connections in any minute; 1 or more.
    public init(perMinute: Int) {
        precondition(perMinute >= 1)
        self.perMinute = perMinute
    }

    /// Allows another number of connections from now on. Those of the last minute count: after a lower number none is
    /// granted until fewer than that are in the minute.
    ///
    /// - Parameter perMinute: 1 or more.
    public mutating func use(perMinute: Int) {
        precondition(perMinute >= 1)
        self.perMinute = perMinute
        if let last = grants.last, grants.count <= perMinute { nextEven = evenTime(after: last.time) }
    }

    /// Takes one connection out of the budget.
    ///
    /// - Parameters:
    ///   - topic: its number, the same in each of its lanes.
    ///   - lane: the lane whose requests the connection is for.
    /// - Returns: nil if it was granted, else the time from which to ask again.
    public mutating func takeConnection(
        topic: UInt64,
        lane: RequestLane,
        purpose: Purpose,
        now: MonotonicTime
    ) -> MonotonicTime? {
        guard purpose != .first else { return takeFirstConnection(of: lane, now: now) }
        expire(now: now)
        let asker = Asker(lane: lane, topic: topic)
        let next = nextGrant(for: purpose, now: now)
        let later = max(next, now + Self.askAgain)
        var state = topics[asker] ?? Topic()
        let earlier = state[purpose].flatMap { now <= $0.until ? $0.since : nil }
        state[purpose] = Wait(since: earlier ?? now, until: later + Self.patience)
        topics[asker] = state
        if earlier == nil { lineUp(asker, purpose) }
        guard next <= now else { return later }
        let inTurn = topicsInTurn(now: now)
        guard inTurn[lane] == topic, turns.next(among: inTurn.keys) == lane else { return later }
        turns.granted(lane, among: inTurn.keys)
        grant(asker, purpose, now: now)
        return nil
    }

    /// The state of a budget at one moment.
    public struct State: Sendable, Equatable {
        /// Connections that may be charged before the oldest of the last minute no longer counts.
        public var left: Int
        /// Topics that ask for a connection and are told to wait, by its purpose. One that waits for a purpose in
        /// several lanes counts once.
        public var waitingTopics: [Purpose: Int]

        public init(left: Int, waitingTopics: [Purpose: Int]) {
            self.left = left
            self.waitingTopics = waitingTopics
        }
    }

    public func state(now: MonotonicTime) -> State {
        let charged = grants.count { now < $0.time + Self.minute }
        let waiting = Self.charged.map { purpose in
            let askers = topics.filter { $0.value[purpose].map { now <= $0.until } ?? false }.keys
            return (purpose, Set(askers.map(\.topic)).count)
        }
        return State(left: max(0, perMinute - charged), waitingTopics: Dictionary(uniqueKeysWithValues: waiting))
    }

    // MARK: Rules

    private mutating func takeFirstConnection(of lane: RequestLane, now: MonotonicTime) -> MonotonicTime? {
        let whole = max(burstIsWhole[lane] ?? now, now) + Self.firstSpacing
        let burst = Self.firstSpacing * Self.firstBurst
        guard whole > now + burst else {
            burstIsWhole[lane] = whole
            return nil
        }
        return now + (now + burst).elapsed(until: whole)
    }

    /// The earliest time of a grant for a purpose; `now` if it is free.
    private func nextGrant(for purpose: Purpose, now: MonotonicTime) -> MonotonicTime {
        var next = now
        if let full = grant(ago: perMinute) { next = max(next, full + Self.minute) }
        if let half = grant(ago: max(1, perMinute / 2)) {
            // Half of the budget was taken within the minute before the next evenly spaced time.
            if nextEven < half + Self.minute { next = max(next, nextEven) }
            if purpose == .successor { next = max(next, half + Self.minute) }
        }
        if purpose == .probe, probes.count >= probesPerMinute {
            next = max(next, probes[probes.count - probesPerMinute] + Self.minute)
        }
        return next
    }

    /// The charged grant `count` grants ago (1 is the last); nil if it is more than a minute old.
    private func grant(ago count: Int) -> MonotonicTime? {
        count <= grants.count ? grants[grants.count - count].time : nil
    }

    /// The next topic in turn of each lane, among those that wait for a free purpose.
    private mutating func topicsInTurn(now: MonotonicTime) -> [RequestLane: UInt64] {
        let free = Self.charged.filter { nextGrant(for: $0, now: now) <= now }
        var inTurn: [RequestLane: UInt64] = [:]
        for lane in RequestLane.allCases {
            var best: Place?
            for purpose in free {
                guard let first = first(in: Line(lane: lane, purpose: purpose), now: now) else { continue }
                best = best.map { min($0, first) } ?? first
            }
            inTurn[lane] = best?.topic
        }
        return inTurn
    }

    /// The first in a line; what does not wait there any more is removed.
    private mutating func first(in line: Line, now: MonotonicTime) -> Place? {
        while let first = lines[line]?.first {
            let asker = Asker(lane: line.lane, topic: first.topic)
            if first == place(of: asker, line.purpose), let wait = topics[asker]?[line.purpose] {
                guard wait.until < now else { return first }
                topics[asker]?[line.purpose] = nil
            }
            lines[line]?.removeFirst()
        }
        return nil
    }

    /// The present place of a topic that waits.
    private func place(of asker: Asker, _ purpose: Purpose) -> Place? {
        guard let topic = topics[asker], let wait = topic[purpose] else { return nil }
        return Place(charged: topic.charged, since: topic.lastGrant ?? wait.since, topic: asker.topic)
    }

    /// Enters a topic into the line of its lane for a purpose, if it waits for it.
    private mutating func lineUp(_ asker: Asker, _ purpose: Purpose) {
        guard let place = place(of: asker, purpose) else { return }
        lines[Line(lane: asker.lane, purpose: purpose), default: BinaryHeap()].insert(place)
    }

    private mutating func grant(_ asker: Asker, _ purpose: Purpose, now: MonotonicTime) {
        // The clock does not have to be right: a grant of the future counts as much as one of now.
        let time = max(now, grants.last?.time ?? now)
        grants.append(Grant(time: time, asker: asker))
        if purpose == .probe { probes.append(time) }
        nextEven = evenTime(after: time)
        topics[asker]?.charged += 1
        topics[asker]?.lastGrant = time
        topics[asker]?[purpose] = nil
        for other in Self.charged { lineUp(asker, other) }
    }

    /// - Parameter time: of the last grant, which is not more than the limit allows.
    private func evenTime(after time: MonotonicTime) -> MonotonicTime {
        let restOfMinute = time.elapsed(until: grants[0].time + Self.minute)
        return time + max(spacing, restOfMinute / (perMinute - grants.count + 1))
    }

    // MARK: Forgetting

    private mutating func expire(now: MonotonicTime) {
        let spent = grants.prefix { $0.time + Self.minute <= now }
        for grant in spent {
            topics[grant.asker]?.charged -= 1
            if topics[grant.asker]?.charged == 0 { topics[grant.asker]?.lastGrant = nil }
            for purpose in Self.charged { lineUp(grant.asker, purpose) }
        }
        grants.removeFirst(spent.count)
        probes.removeFirst(probes.prefix { $0 + Self.minute <= now }.count)
        guard sweepsAt <= now else { return }
        sweepsAt = now + .seconds(1)
        sweepSteps += topics.count
        topics = topics.filter { $0.value.charged > 0 || $0.value.isWaiting(now: now) }
        // Former places may stay behind present ones for ever.
        for (line, former) in lines where former.count > 2 * topics.count + 64 {
            let places = topics.keys.filter { $0.lane == line.lane }.compactMap { place(of: $0, line.purpose) }
            lines[line]?.replaceAll(by: places)
        }
    }
}

extension ConnectionBudget.Topic {
    subscript(purpose: ConnectionBudget.Purpose) -> ConnectionBudget.Wait? {
        get {
            switch purpose {
            case .first: nil
            case .reconnect: reconnect
            case .successor: successor
            case .probe: probe
            }
        }
        set {
            switch purpose {
            case .first: preconditionFailure("a first connection is not charged")
            case .reconnect: reconnect = newValue
            case .successor: successor = newValue
            case .probe: probe = newValue
            }
        }
    }

    func isWaiting(now: MonotonicTime) -> Bool {
        [reconnect, successor, probe].contains { $0.map { now <= $0.until } ?? false }
    }
}
