/// The urgency of requests. Each lane is a Kafka topic of its own, and a service that may write there may use it.
///
/// A worker serves each lane by threads, a consumer group, and connections to Redis and gateways of its own, so that
/// nothing of a lane waits in a queue of another one. What they share are processors, which the kernel shares out by
/// the threads' nice values.
public enum RequestLane: String, CaseIterable, Comparable, Sendable {
    case urgent
    case normal
    case bulk

    /// Stands behind the names of Kafka topics, groups and clients that a lane has for itself.
    public var suffix: String { self == .normal ? "" : ".\(rawValue)" }

    /// The Kafka topic of the lane's requests.
    ///
    /// - Parameter prefix: the installation's `kafka.prefix`; empty: none.
    public func kafkaTopic(prefix: String) -> String { prefix + "push.requests" + suffix }

    /// The place among all lanes, from 0: the lower goes first.
    public var rank: Int {
        switch self {
        case .urgent: 0
        case .normal: 1
        case .bulk: 2
        }
    }

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    /// Added to the nice value of a lane's threads; 0 for the first of the lanes that a process serves.
    ///
    /// Of busy processors the kernel gives each thread a part by its weight, which falls by a fifth with each step
    /// (sched_prio_to_weight: 1024, 526 and 215 for 0, 3 and 7). So bulk keeps more than a tenth beside both others.
    public func niceness(among served: some Collection<RequestLane>) -> Int32 {
        guard self != served.min() else { return 0 }
        return switch self {
        case .urgent: 0
        case .normal: 3
        case .bulk: 7
        }
    }

    /// The share of a shard's memory that a lane has, 0 … 1; those of all lanes that a process serves make 1.
    ///
    /// - Parameter served: each once, this lane among them.
    public func memoryShare(among served: some Collection<RequestLane>) -> Double {
        let all = served.reduce(0) { $0 + $1.memoryWeight }
        return Double(memoryWeight) / Double(all)
    }

    private var memoryWeight: Int { self == .normal ? 2 : 1 }
}
