import APNsProtocol
import PipelineCore

/// The way of one topic's notifications to its gateway in one shard: connections, and what waits for them or is on its
/// way over them.
///
/// The gateway stage and those before it know no other side of a transport, apart from encoding. Bound to the shard's
/// event loop.
protocol AppTransport: AnyObject, AppFlowLanes {
    /// Open connections, each counted for one topic alone.
    var openConnections: Int { get }
    /// Nothing waits or is in flight, and no connection is being replaced.
    var isAtRest: Bool { get }

    /// Notifications that may be sent wait for the connection budget.
    var isWaitingForBudget: Bool { get }

    /// Decides by other settings from now on.
    ///
    /// - Parameter limits: of the topic.
    func use(_ settings: ShardSettings, _ limits: LaneLimits)
    /// Sends everything that may be sent, or connects first if necessary.
    ///
    /// - Parameter isMoreAtHand: the next turn brings more, so that what is not worth a write may wait for it, or for
    ///   the tick.
    func pump(now: MonotonicTime, isMoreAtHand: Bool)
    /// Connections are to be open for a while from now on though nothing is to be sent.
    func keepWarm(now: MonotonicTime)
    /// Nothing is written and no connection is opened while this holds.
    func hold(_ isHeld: Bool)
    /// Lets time pass.
    func tick(now: MonotonicTime)
    /// Nothing has settled for too long, though something waits or is in flight. True once per standstill. While all
    /// of the worker is held, that is excused.
    func standsStill(now: MonotonicTime) -> Bool

    /// The topic works: everything may go.
    func admitAll()
    /// One notification may be in flight at a time: a probe.
    func admitProbe()
    /// The topic does not work: nothing more goes out, and what is in flight may settle.
    func suspend()

    /// Stops sending notifications of a feed that is being given back; those in flight may still settle.
    func stopSending(assignment: UInt32)
    /// Forgets the notifications of a feed that is over, whatever answers still come.
    func forget(assignment: UInt32)
    /// Something of a feed is to be sent, or sent again if a late answer says so.
    func keeps(assignment: UInt32) -> Bool
    /// Removes waiting notifications of a feed that another stage takes over.
    ///
    /// - Returns: their references, in order.
    func takeWaiting(assignment: UInt32, where isTaken: (NotificationReference) -> Bool) -> [NotificationReference]
    /// Removes the waiting notifications of a token.
    ///
    /// - Parameter kind: of their topic; nil: all kinds.
    /// - Returns: their references, in order.
    func discardWaiting(token: [UInt8], checksum: UInt32, kind: TopicKind?) -> [NotificationReference]
    /// Waiting notifications of a feed that had trouble before.
    func troubles(assignment: UInt32) -> [(NotificationReference, NotificationTrouble)]
    /// Adds earlier trouble to the notification of a token that was appended last.
    func inheritTrouble(_ trouble: NotificationTrouble, checksum: UInt32)

    /// The number of the line in which notifications of a token wait, from 0.
    func lane(checksum: UInt32) -> Int
    /// The end of what waits in a line; nil: nothing waits there.
    func waitingEnd(ofLane number: Int) -> UInt64?
    /// The end of what a connection took from a line.
    func sentEnd(ofLane number: Int) -> UInt64

    /// Ends up to which a revocation waits.
    func barriers() -> [LaneBarrier]
    /// Begins the end at a stop: notifications in flight are to be proven.
    func finish(now: MonotonicTime)
    /// Closes the connections in order; notifications in flight keep their unknown fate.
    func close()
}

/// Everything that was in flight at one moment.
struct LaneBarrier {
    private let test: () -> Bool

    /// - Parameter test: all of it is settled now.
    init(_ test: @escaping () -> Bool) {
        self.test = test
    }

    var isPassed: Bool { test() }
}
