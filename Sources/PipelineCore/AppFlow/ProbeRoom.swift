/// Shares the room for the records of topics that are only probed: while they leave none, one of those whose records
/// wait for a probe gives way at each turn, so that all are probed in the end.
///
/// Pure: time is an argument.
public struct ProbeRoom: Sendable {
    /// A topic that is only probed.
    public struct Probed: Sendable {
        public var topic: Int32
        /// Its records here.
        public var bytes: Int
        /// Its records wait for a probe; nothing is in flight.
        public var isHeld: Bool
        /// It has records, here or passed over.
        public var hasWork: Bool

        public init(topic: Int32, bytes: Int, isHeld: Bool, hasWork: Bool) {
            self.topic = topic
            self.bytes = bytes
            self.isHeld = isHeld
            self.hasWork = hasWork
        }
    }

    /// Time between two turns.
    public static let turn = Duration.seconds(10)

    /// The topic that leaves the room to others until the next turn.
    public private(set) var givingWay: Int32?
    /// Topics whose records waited for a probe at the last turn.
    private var holders: Set<Int32> = []
    private var nextTurn = MonotonicTime(nanoseconds: 0)

    public init() {}

    /// Lets a turn pass, if one is due.
    ///
    /// - Parameters:
    ///   - isFull: the records of probed topics leave no room.
    ///   - probed: these topics, in a lasting order; asked for only if it is full.
    /// - Returns: the topic that gives way now; its records are to be given up.
    public mutating func share(isFull: Bool, now: MonotonicTime, probed: () -> [Probed]) -> Int32? {
        guard nextTurn <= now else { return nil }
        nextTurn = now + Self.turn
        givingWay = nil
        let former = holders
        holders = []
        guard isFull else { return nil }
        let probed = probed()
        let held = probed.filter { $0.bytes > 0 && $0.isHeld }.map(\.topic)
        holders = Set(held)
        guard probed.contains(where: { $0.bytes == 0 && $0.hasWork }) else { return nil }
        givingWay = held.first(where: former.contains)
        return givingWay
    }
}
