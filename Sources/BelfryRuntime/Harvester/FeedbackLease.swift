import Foundation
import PipelineCore
import RedisClient

/// What keeps others from reading a list while one harvester does. On the event loop.
protocol FeedbackLease: AnyObject {
    /// Takes the lease if it is free, or holds it for longer if it is ours. Answers once.
    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void)
    /// Gives it back if it is ours. Calls back whatever becomes of it: a lease that is not renewed is free after a while.
    func release(_ done: @escaping () -> Void)
}

/// A lease in Redis: `l:{<environment>:<bundle>}:feedback`, whose value names the owner.
final class RedisFeedbackLease: FeedbackLease {
    private let redis: any RedisPipeline
    private let key: String
    private let duration: Duration
    /// Tells this process's leases from others'.
    private let owner: String

    /// - Parameter owner: nobody else's.
    init(_ source: FeedbackConnection.Source, duration: Duration, owner: String, redis: any RedisPipeline) {
        self.redis = redis
        self.duration = duration
        self.owner = owner
        key = "l:{\(source.environment):\(source.bundleID)}:feedback"
    }

    /// Taking and renewing are one, so that asking again after an answer that was lost finds what is ours.
    private static let hold = RedisScript(
        """
        local owner = redis.call('GET', KEYS[1])
        if owner and owner ~= ARGV[1] then
          return 0
        end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
        """
    )
    private static let release = RedisScript(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
    )

    func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void) {
        redis.evaluate(Self.hold, slot: RedisSlot(key: key), keyCount: 1, argumentCount: 2) { writer in
            writer.argument(key)
            writer.argument(owner)
            writer.argument(Int(duration / .milliseconds(1)))
        } _: { result in
            switch result {
            case .success(let reply): answered(reply.integer == 1 ? .held : .refused, nil)
            case .failure(let error): answered(.unknown, error)
            }
        }
    }

    func release(_ done: @escaping () -> Void) {
        redis.evaluate(Self.release, slot: RedisSlot(key: key), keyCount: 1, argumentCount: 1) { writer in
            writer.argument(key)
            writer.argument(owner)
        } _: { _ in
            done()
        }
    }
}
