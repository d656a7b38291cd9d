/// One step of the schedule. Numbers named `pick` choose among what is there at the time, modulo its number.
enum ChaosAction: Hashable, Sendable {
    /// `kill -9` of a process of a role.
    case kill(ChaosRole, pick: Int)
    /// SIGTERM to one, as scaling down does.
    case stop(ChaosRole, pick: Int)
    case start(ChaosRole)
    /// A worker stands still, for longer than its session lasts (SIGSTOP).
    case freeze(pick: Int)
    /// It goes on (SIGCONT).
    case thaw
    case stopBroker
    case startBroker
    case stopRedis
    case startRedis
    /// A master's writes reach its replica no more.
    case cutReplica(pick: Int)
    /// `kill -9` of that master: the replica takes over without them.
    case killMaster
    /// It comes back as a replica.
    case reviveMaster
    /// A slot begins to move to another master.
    case openSlot(pick: Int, target: Int)
    /// It belongs to that one.
    case closeSlot
    /// The push service finds apps missing.
    case listFeedback(FeedbackListing)
    case setFault(ChaosFault)
    case clearFaults

    /// As counted in the result.
    var name: String? {
        switch self {
        case .kill(let role, _): "\(role.rawValue)-kill"
        case .stop(let role, _): "\(role.rawValue)-stop"
        case .freeze: "worker-freeze"
        case .stopBroker: "broker-outage"
        case .stopRedis: "redis-outage"
        case .killMaster: "redis-fail-over"
        case .openSlot: "slot-move"
        case .start, .thaw, .startBroker, .startRedis, .cutReplica, .reviveMaster, .closeSlot, .listFeedback, .setFault,
            .clearFaults:
            nil
        }
    }
}

/// Neighbours whose apps the push service finds missing.
struct FeedbackListing: Hashable, Sendable {
    /// Chooses the topic, modulo their number.
    var topic: Int
    /// Chooses the first device, modulo their number.
    var first: Int
    /// Fewer at the end of the list.
    var count: Int
    /// Seconds by which the time of the finding is out of order.
    var disorder: Int
}
