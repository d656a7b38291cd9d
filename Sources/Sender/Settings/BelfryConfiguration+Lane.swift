import BelfrySupport
import RequestLanes

extension BelfryConfiguration {
    /// The configuration of a lane's shards: they have a share of the memory, and an urgent one is taken over soon.
    ///
    /// - Parameter lanes: those that the process serves.
    func narrowed(to lane: RequestLane, among lanes: [RequestLane]) -> BelfryConfiguration {
        var own = self
        let share = lane.memoryShare(among: lanes)
        own.worker.shardMemoryBytes = Int(Double(worker.shardMemoryBytes) * share)
        own.worker.topicMemoryBytes = Int(Double(worker.topicMemoryBytes) * share)
        guard lane == .urgent else { return own }
        own.kafka.shortenSession(to: Self.urgentSession)
        let session = own.kafka.sessionTimeout
        own.worker.commitPatience = min(worker.commitPatience, session / 3)
        own.worker.revokeDeadline = min(worker.revokeDeadline, session * 2 / 3)
        return own
    }

    /// The shortest that brokers allow unless told otherwise (`group.min.session.timeout.ms`).
    private static var urgentSession: Duration { .seconds(6) }
}
