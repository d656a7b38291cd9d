import BelfrySupport
import KafkaClient
import NIOCore
import PipelineCore

extension KafkaConsumer {
    /// The member has its place in the group; an empty assignment is one.
    package func isInGroup(now: NIODeadline) -> Bool {
        GroupReadiness.isReady(
            hasJoined: hasJoined,
            rejoiningSince: rejoiningSince.map { MonotonicTime($0) },
            now: MonotonicTime(now)
        )
    }
}
