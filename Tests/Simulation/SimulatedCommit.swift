@testable import KafkaClient

/// A commit on its way to the broker.
struct SimulatedCommit {
    let offsets: [KafkaPartitionOffset]
    let sentAt: VirtualTime
    /// Generation that it names; nil: the member's own when it arrives.
    let generation: Int?
    /// It arrives though the process has gone.
    let isOnTheWire: Bool
    let completion: ((KafkaError?) -> Void)?

    /// Troubles that meet the commits of one member.
    struct Faults {
        /// They are lost until a time, applied by the broker or not.
        var lost: (until: VirtualTime, isApplied: Bool) = (0, false)
        /// Answers take seconds before this time.
        var answersLateUntil: VirtualTime = 0
        /// Commits of before this time arrive then. In the client they end with its process.
        var deferred: (until: VirtualTime, isInClient: Bool) = (0, false)
        /// Commits of before this time are answered by a time-out only.
        var unanswered: (until: VirtualTime, isApplied: Bool) = (0, false)

        /// Calls of before this time throw.
        var throwsUntil: VirtualTime = 0

        /// Time for which a commit is kept from arriving.
        func deferral(now: VirtualTime) -> VirtualTime { deferred.until > now ? deferred.until - now : 0 }
    }
}
