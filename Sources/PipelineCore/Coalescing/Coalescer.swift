/// Sends the newest of several waiting requests of one device and coalescing key. The newest is chosen among those that
/// have not expired; the others are superseded.
///
/// The waiting requests of one device and key are a *group*. A group is closed, and its newest request is due, when
/// nothing holds it any more: the backlog before it was read, and its window, if it has one, is over. A later request
/// begins another group. A request that certainly cannot be the one to send leaves its group at once, so that mostly
/// one is left however many come. Pure: time is an argument, effects are values.
public struct Coalescer: Sendable {
    /// The device and key that the requests of a group share.
    public struct Subject: Hashable, Sendable {
        /// Number of the bundle in its environment.
        public var topic: Int32
        /// Fingerprint of token and coalescing key.
        public var fingerprint: RequestFingerprint

        public init(topic: Int32, fingerprint: RequestFingerprint) {
            self.topic = topic
            self.fingerprint = fingerprint
        }
    }

    /// The age of a request: its time of publishing, then its offset. Within one record the later token is newer.
    public struct Stamp: Comparable, Hashable, Sendable {
        /// UNIX time.
        public var milliseconds: Int64
        public var offset: Int64
        public var token: UInt32

        public init(milliseconds: Int64, offset: Int64, token: UInt32) {
            self.milliseconds = milliseconds
            self.offset = offset
            self.token = token
        }

        public static func < (left: Stamp, right: Stamp) -> Bool {
            (left.milliseconds, left.offset, left.token) < (right.milliseconds, right.offset, right.token)
        }
    }

    /// A request to one device.
    public struct Request: Equatable, Sendable {
        /// Ascending in the order of arrival, never reused.
        public var ticket: UInt64
        public var stamp: Stamp
        /// UNIX seconds; 0: never expires here.
        public var expiration: UInt32

        public init(ticket: UInt64, stamp: Stamp, expiration: UInt32) {
            self.ticket = ticket
            self.stamp = stamp
            self.expiration = expiration
        }
    }

    /// A moving position that a group waits for.
    public enum Gate: Hashable, Sendable {
        /// Records taken in of an assignment. The wait ends after a time, because later records may never come.
        case backlog(assignment: UInt32)
        /// Requests that have left a lane. Until then a group's request would only wait in the lane.
        case lane(topic: Int32, number: Int)
    }

    /// Waits until a gate reaches a position. Waits at one gate must ascend in the order in which groups are opened;
    /// otherwise some wait a little longer.
    public struct Wait: Equatable, Sendable {
        public var gate: Gate
        public var position: UInt64

        public init(_ gate: Gate, until position: UInt64) {
            self.gate = gate
            self.position = position
        }
    }

    public enum Window: Equatable, Sendable {
        case none
        /// Told later by ``windowEnds(_:at:)``.
        case unknown
        case ends(MonotonicTime)
    }

    public enum Arrival: Equatable, Sendable {
        /// Nothing holds the request: it goes on at once.
        case passes
        /// The request is the first of a group.
        case opens(group: UInt64)
        /// The request waits with others, or was superseded by one of them.
        case joins(superseded: [UInt64])
    }

    /// The results for requests, by ticket.
    public struct Settled: Equatable, Sendable {
        /// Requests to send, in the order of arrival.
        public var due: [Due] = []
        /// Ascending.
        public var superseded: [UInt64] = []
        /// Ascending.
        public var expired: [UInt64] = []
    }

    public struct Due: Equatable, Sendable {
        public var ticket: UInt64
        public var subject: Subject
        public var stamp: Stamp
        /// The request's group had a window.
        public var hadWindow: Bool
    }

    fileprivate struct Holds: OptionSet {
        let rawValue: UInt8
        static let backlog = Holds(rawValue: 1)
        static let lane = Holds(rawValue: 2)
        static let window = Holds(rawValue: 4)
    }

    private struct Group {
        var subject: Subject
        /// Requests that can still be the one to send; stamps ascend. In each pair the newer one expires first, and
        /// does expire: otherwise it would supersede the older.
        var candidates: [Request]
        var holds: Holds
        var hasWindow: Bool

        /// - Returns: the tickets of superseded requests, possibly the request's own.
        mutating func join(_ request: Request) -> [UInt64] {
            let place = candidates.partitioningIndex { request.stamp < $0.stamp }
            // Of the newer ones the first expires last.
            if place < candidates.count, candidates[place].supersedes(request) { return [request.ticket] }
            // Of the older ones the last expires first. One of the same stamp is the same request once more.
            let end = candidates.partitioningIndex { !($0.stamp < request.stamp) }
            var start = end
            while start > 0, request.supersedes(candidates[start - 1]) { start -= 1 }
            let superseded = candidates[start..<end].map(\.ticket)
            candidates.insert(request, at: place)
            candidates.removeSubrange(start..<end)
            return superseded
        }
    }

    /// The longest wait of a group for a backlog.
    public let patience: Duration
    private var groups = PartedDictionary<UInt64, Group>()
    private var open = PartedDictionary<Subject, UInt64>()
    private var nextGroup: UInt64 = 0
    private var queues: [Gate: Queue<UInt64>] = [:]
    /// The gates at which groups wait, the one that was waited for first before the others.
    private(set) var gates: [Gate] = []
    /// The times at which groups stop waiting for a backlog.
    private var deadlines = Queue<MonotonicTime>()
    private var windows = WindowHeap()
    /// Room for groups that is kept while there is none: as many came as it would take to grow again.
    private static let keptCapacity = 2048
    /// Groups that nothing holds any more.
    private var closed: [UInt64] = []
    /// The last ``takeDue(now:unixSeconds:most:)`` has left something for another call.
    private var hasLeftDue = false
    /// The last ``pass(most:_:)`` has left something for another call.
    private var hasLeftWaits = false

    public init(patience: Duration) {
        self.patience = patience
    }

    /// Nothing waits.
    public var isEmpty: Bool { groups.isEmpty }

    /// The last calls have left something for others.
    public var isUnfinished: Bool { hasLeftDue || hasLeftWaits }

    // MARK: Requests

    /// A valid request that has not expired has arrived.
    ///
    /// - Parameters:
    ///   - waits: the waits of its group if the request is the first.
    ///   - window: the window of its group if the request is the first.
    public mutating func arrive(
        _ request: Request,
        of subject: Subject,
        now: MonotonicTime,
        window: Window,
        waits: @autoclosure () -> [Wait]
    ) -> Arrival {
        if let number = open[subject] { return .joins(superseded: groups[number]?.join(request) ?? []) }
        let waits = waits()
        var holds: Holds = window == .none ? [] : .window
        for wait in waits { holds.insert(wait.gate.hold) }
        guard !holds.isEmpty else { return .passes }
        let number = nextGroup
        nextGroup += 1
        groups[number] = Group(subject: subject, candidates: [request], holds: holds, hasWindow: window != .none)
        open[subject] = number
        for wait in waits {
            if queues[wait.gate] == nil { gates.append(wait.gate) }
            queues[wait.gate, default: Queue()].append(number, until: wait.position)
        }
        if holds.contains(.backlog) { deadlines.append(number, until: now + patience) }
        if case .ends(let time) = window { windows.insert(number, at: time) }
        return .opens(group: number)
    }

    /// A request was repeated that its device had received before: older waiting requests must not follow it.
    ///
    /// - Returns: the tickets of the requests that it supersedes, ascending by stamp.
    public mutating func arrivedBefore(_ stamp: Stamp, of subject: Subject) -> [UInt64] {
        guard let number = open[subject], let group = groups[number] else { return [] }
        let older = group.candidates.prefix { $0.stamp < stamp }
        if older.count == group.candidates.count {
            remove(number)
        } else {
            groups[number]?.candidates.removeFirst(older.count)
        }
        return older.map(\.ticket)
    }

    /// The end of a group's window became known.
    public mutating func windowEnds(_ group: UInt64, at time: MonotonicTime) {
        windows.insert(group, at: time)
    }

    /// The group still waits.
    public func waits(_ group: UInt64) -> Bool { groups[group] != nil }

    /// Forgets requests that this shard no longer owns.
    ///
    /// - Parameter requests: in any order; some may not wait any more.
    public mutating func forget(_ requests: [(ticket: UInt64, subject: Subject)]) {
        for (ticket, subject) in requests {
            guard let number = open[subject] else { continue }
            groups[number]?.candidates.removeAll { $0.ticket == ticket }
            if groups[number]?.candidates.isEmpty ?? false { remove(number) }
        }
    }

    // MARK: Waiting

    /// Ends the waits for gates that have moved on.
    ///
    /// - Parameters:
    ///   - most: waits to end; the others are left for the next call, and ``isUnfinished`` is true until then.
    ///   - position: that a gate has reached.
    public mutating func pass(most: Int = .max, _ position: (Gate) -> UInt64) {
        var room = most
        for gate in gates {
            let position = position(gate)
            while room > 0, let number = queues[gate]?.next(upTo: position) {
                lift(gate.hold, of: number)
                room -= 1
            }
            if queues[gate]?.isEmpty ?? false { queues[gate] = nil }
        }
        if queues.count < gates.count { gates.removeAll { queues[$0] == nil } }
        hasLeftWaits = room == 0
    }

    /// Takes the requests that are due.
    ///
    /// - Parameter most: waits to end and groups to take, each; the others are left for the next call, and
    ///   ``isUnfinished`` is true until then.
    public mutating func takeDue(now: MonotonicTime, unixSeconds: Int64, most: Int = .max) -> Settled {
        var room = most
        while room > 0, let number = deadlines.next(upTo: now) {
            lift(.backlog, of: number)
            room -= 1
        }
        while room > 0, let number = windows.next(upTo: now) {
            lift(.window, of: number)
            room -= 1
        }
        var settled = Settled()
        // The groups opened first go first, in whichever call.
        if closed.count > most { closed.sort() }
        let taken = Array(closed.prefix(most))
        closed.removeFirst(taken.count)
        hasLeftDue = room == 0 || !closed.isEmpty
        for number in taken {
            guard let group = remove(number) else { continue }
            var isDecided = false
            for request in group.candidates.reversed() {
                if request.expiration != 0, Int64(request.expiration) < unixSeconds {
                    settled.expired.append(request.ticket)
                } else if isDecided {
                    settled.superseded.append(request.ticket)
                } else {
                    isDecided = true
                    settled.due.append(
                        Due(
                            ticket: request.ticket,
                            subject: group.subject,
                            stamp: request.stamp,
                            hadWindow: group.hasWindow
                        )
                    )
                }
            }
        }
        settled.due.sort { $0.ticket < $1.ticket }
        settled.superseded.sort()
        settled.expired.sort()
        return settled
    }

    // MARK: Private helpers

    private mutating func lift(_ hold: Holds, of number: UInt64) {
        guard let holds = groups[number]?.holds, !holds.isEmpty else { return }
        groups[number]?.holds.remove(hold)
        if holds.subtracting(hold).isEmpty { closed.append(number) }
    }

    @discardableResult
    private mutating func remove(_ number: UInt64) -> Group? {
        guard let group = groups.removeValue(forKey: number) else { return nil }
        open.removeValue(forKey: group.subject)
        if groups.isEmpty {
            forgetWaits()
            groups.shrinkIfEmpty(to: Self.keptCapacity)
            open.shrinkIfEmpty(to: Self.keptCapacity)
        }
        return group
    }

    /// The remaining entries belong to groups that are gone.
    private mutating func forgetWaits() {
        queues = [:]
        gates = []
        deadlines = Queue()
        windows = WindowHeap()
        closed = []
    }
}

extension Coalescer.Request {
    /// This request takes the other's place whenever their group is closed. It is newer, and it has not expired unless
    /// the other has, too.
    fileprivate func supersedes(_ older: Self) -> Bool {
        older.stamp < stamp && (expiration == 0 || older.expiration != 0 && expiration >= older.expiration)
    }
}

extension Coalescer.Gate {
    fileprivate var hold: Coalescer.Holds {
        switch self {
        case .backlog: .backlog
        case .lane: .lane
        }
    }
}
