import Foundation
import PipelineCore
import PushTopics
import RedisClient
import TokenState

/// Keeps others from reading a list while one harvester does. On the event loop.
protocol FeedbackLease: AnyObject {
    /// Takes the lease if it is free, or holds it for longer if it is ours. Answers once.
    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void)
    /// Gives it back if it is ours. Calls back in any case: a lease that is not renewed is free after a while.
    func release(_ done: @escaping () -> Void)
}

/// A lease in Redis: `l:{<environment>:<bundle>}:feedback`, whose value names the owner.
///
/// A harvester whose clock may not decide gets none: tuples are judged by the time of their reading, and reading clears
/// the list.
final class RedisFeedbackLease: FeedbackLease {
    private let lease: Lease
    private let clock: ClockCheck?

    /// The host's clock is out of line, or not compared yet.
    struct ClockError: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - owner: of no other process.
    ///   - clock: compares the host's clock; nil: it may decide.
    init(
        _ source: FeedbackConnection.Source,
        duration: Duration,
        owner: String,
        redis: any RedisPipeline,
        _ clock: ClockCheck? = nil
    ) {
        self.clock = clock
        let key = "l:{\(source.environment):\(source.bundleID)}:feedback"
        lease = Lease(redis, key: key, owner: owner, duration: duration)
    }

    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void) {
        guard clock?.mayDecide ?? true else {
            let reason = clock?.obstacle ?? "the clock of this host is not compared with Redis yet"
            return answered(.unknown, ClockError(description: reason))
        }
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
