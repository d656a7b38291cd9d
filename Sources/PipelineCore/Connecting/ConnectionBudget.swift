/// A limit on new connections per minute, shared fairly between the topics that wait.
///
/// The service treats rapid connecting as denial of service ([10]). The budget applies to every connection that is
/// opened again, also to those that follow an answered error, which need no back-off. No minute, wherever it begins,
/// has more grants than the limit. Half of them may come at once, the others come evenly, so that a busy minute does
/// not end in a standstill. A lane's first connection is paced, not charged: a start is no reconnect storm, and must
/// not use up the grants that reconnects need.
///
/// A free grant goes to the waiting topic with the fewest grants within the last minute, so that a topic that
/// reconnects all the time gets no more than the others leave. A topic waits by asking: it asks again at the time it
/// was told, and counts as waiting until ``patience`` after that.
public struct ConnectionBudget: Sendable {
    /// The reason for a connection.
    public enum Purpose: Sendable, CaseIterable {
        /// A lane's first: paced, not charged.
        case first
        /// Replaces a connection that has ended.
        case reconnect
        /// Replaces a connection that still works, so it can wait: granted out of the first half of a minute's budget
        /// only.
        case successor
        /// Tries a topic that does not work: at most a quarter of a minute's budget.
        case probe
    }

    private struct Grant {
        var time: MonotonicTime
        var topic: UInt64
    }

    struct Wait {
        /// First asked.
        var since: MonotonicTime
        /// No longer waits after this time, unless it asks again.
        var until: MonotonicTime
    }

    struct Topic {
        /// Grants within the last minute.
        var charged = 0
        /// The last one of them.
        var lastGrant: MonotonicTime?
        var reconnect: Wait?
        var successor: Wait?
        var probe: Wait?
    }

    /// A topic's place in the line of those that wait for a purpose: fewest grants first, then longest without one.
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
    /// First connections: 20 a second, 20 at once.
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
    private(set) var topics: [UInt64: Topic] = [:]
    /// Every topic that waits for a purpose stands in its line, at its present place. Places that it had before are
    /// skipped when they come to the front.
    private var lines: [Purpose: BinaryHeap<Place>] = [:]
    private var sweepSteps = 0
    /// Steps of work, ever: the cost of asking.
    var steps: Int { lines.values.reduce(sweepSteps) { $0 + $1.steps } }
    private var sweepsAt = MonotonicTime(nanoseconds: 0)
    /// The time at which the whole burst of first connections is available again.
    private var burstIsWhole = MonotonicTime(nanoseconds: 0)

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
    /// - Returns: nil if it was granted, else the time from which to ask again.
    public mutating func takeConnection(topic: UInt64, purpose: Purpose, now: MonotonicTime) -> MonotonicTime? {
        guard purpose != .first else { return takeFirstConnection(now: now) }
        expire(now: now)
        let next = nextGrant(for: purpose, now: now)
        let later = max(next, now + Self.askAgain)
        var asker = topics[topic] ?? Topic()
        let earlier = asker[purpose].flatMap { now <= $0.until ? $0.since : nil }
        asker[purpose] = Wait(since: earlier ?? now, until: later + Self.patience)
        topics[topic] = asker
        if earlier == nil { lineUp(topic, purpose) }
        guard next <= now, topic == favourite(now: now) else { return later }
        grant(topic, purpose, now: now)
        return nil
    }

    /// The state of a budget at one moment.
    public struct State: Sendable, Equatable {
        /// Connections that may be charged before the oldest of the last minute no longer counts.
        public var left: Int
        /// Topics that ask for a connection and are told to wait, by its purpose.
        public var waitingTopics: [Purpose: Int]

        public init(left: Int, waitingTopics: [Purpose: Int]) {
            self.left = left
            self.waitingTopics = waitingTopics
        }
    }

    public func state(now: MonotonicTime) -> State {
        let charged = grants.count { now < $0.time + Self.minute }
        let waiting = Self.charged.map { purpose in
            (purpose, topics.values.count { $0[purpose].map { now <= $0.until } ?? false })
        }
        return State(left: max(0, perMinute - charged), waitingTopics: Dictionary(uniqueKeysWithValues: waiting))
    }

    // MARK: Rules

    private mutating func takeFirstConnection(now: MonotonicTime) -> MonotonicTime? {
        let whole = max(burstIsWhole, now) + Self.firstSpacing
        let burst = Self.firstSpacing * Self.firstBurst
        guard whole > now + burst else {
            burstIsWhole = whole
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

    /// The next topic in turn among those that wait for a free purpose.
    private mutating func favourite(now: MonotonicTime) -> UInt64? {
        var best: Place?
        for purpose in Self.charged where nextGrant(for: purpose, now: now) <= now {
            guard let first = first(waitingFor: purpose, now: now) else { continue }
            best = best.map { min($0, first) } ?? first
        }
        return best?.topic
    }

    /// The first in the line for a purpose; what does not wait there any more is removed.
    private mutating func first(waitingFor purpose: Purpose, now: MonotonicTime) -> Place? {
        while let first = lines[purpose]?.first {
            if first == place(of: first.topic, purpose), let wait = topics[first.topic]?[purpose] {
                guard wait.until < now else { return first }
                topics[first.topic]?[purpose] = nil
            }
            lines[purpose]?.removeFirst()
        }
        return nil
    }

    /// The present place of a topic that waits.
    private func place(of number: UInt64, _ purpose: Purpose) -> Place? {
        guard let topic = topics[number], let wait = topic[purpose] else { return nil }
        return Place(charged: topic.charged, since: topic.lastGrant ?? wait.since, topic: number)
    }

    /// Enters a topic into the line for a purpose, if it waits for it.
    private mutating func lineUp(_ topic: UInt64, _ purpose: Purpose) {
        if let place = place(of: topic, purpose) { lines[purpose, default: BinaryHeap()].insert(place) }
    }

    private mutating func grant(_ topic: UInt64, _ purpose: Purpose, now: MonotonicTime) {
        // The clock does not have to be right: a grant of the future counts as much as one of now.
        let time = max(now, grants.last?.time ?? now)
        grants.append(Grant(time: time, topic: topic))
        if purpose == .probe { probes.append(time) }
        nextEven = evenTime(after: time)
        topics[topic]?.charged += 1
        topics[topic]?.lastGrant = time
        topics[topic]?[purpose] = nil
        for other in Self.charged { lineUp(topic, other) }
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
            topics[grant.topic]?.charged -= 1
            if topics[grant.topic]?.charged == 0 { topics[grant.topic]?.lastGrant = nil }
            for purpose in Self.charged { lineUp(grant.topic, purpose) }
        }
        grants.removeFirst(spent.count)
        probes.removeFirst(probes.prefix { $0 + Self.minute <= now }.count)
        guard sweepsAt <= now else { return }
        sweepsAt = now + .seconds(1)
        sweepSteps += topics.count
        topics = topics.filter { $0.value.charged > 0 || $0.value.isWaiting(now: now) }
        // Former places may stay behind present ones for ever.
        for purpose in Self.charged where (lines[purpose]?.count ?? 0) > 2 * topics.count + 64 {
            let places = topics.keys.compactMap { place(of: $0, purpose) }
            lines[purpose]?.replaceAll(by: places)
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
