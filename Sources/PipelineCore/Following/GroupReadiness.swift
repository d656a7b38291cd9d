/// Judges for readiness whether a member has its place in the consumer group.
///
/// An empty assignment is a place: the member stands by for the others.
public enum GroupReadiness {
    /// Longest time from giving partitions back to the next assignment of a member that is ready. Rebalances come and
    /// go without a change of readiness; a member that the group does not take back is not ready.
    public static let rejoinPatience = Duration.seconds(60)

    /// - Parameters:
    ///   - hasJoined: an assignment was answered, and none was lost since.
    ///   - rejoiningSince: the time when partitions were given back; nil once the next assignment is answered.
    public static func isReady(hasJoined: Bool, rejoiningSince: MonotonicTime?, now: MonotonicTime) -> Bool {
        guard hasJoined else { return false }
        guard let rejoiningSince else { return true }
        return rejoiningSince.elapsed(until: now) <= rejoinPatience
    }
}
