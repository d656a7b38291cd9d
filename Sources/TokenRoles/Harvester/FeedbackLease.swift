import Foundation
import PipelineCore
import PushTopics
import RedisClient
import TokenState

/// Keeps others from reading a list while one harvester does. On the event loop.
protocol FeedbackLease: AnyObject {
    /// Takes the lease if it is free, or holds it for longer if it is ours. Answers once.
    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void)
    /// Gives it back if it is ours. Calls back whatever becomes of it: a lease that is not renewed is free after a
    /// while.
    func release(_ done: @escaping () -> Void)
}

/// A lease in Redis: `l:{<environment>:<bundle>}:feedback`, whose value names the owner.
final class RedisFeedbackLease: FeedbackLease {
    private let lease: Lease

    /// - Parameter owner: nobody else's.
    init(_ source: FeedbackConnection.Source, duration: Duration, owner: String, redis: any RedisPipeline) {
        let key = "l:{\(source.environment):\(source.bundleID)}:feedback"
        lease = Lease(redis, key: key, owner: owner, duration: duration)
    }

    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void) {
        lease.hold { result in
            switch result {
            case .success(let isOurs): answered(isOurs ? .held : .refused, nil)
            case .failure(let error): answered(.unknown, error)
            }
        }
    }

    func release(_ done: @escaping () -> Void) {
        lease.release(done)
    }
}
