import PipelineCore
import RedisClient

/// A key in Redis that one process at a time holds for a while, named by its owner. On the event loop of its Redis client.
///
/// It keeps others from doing the same work, not from doing harm: who was suspended for longer than it lasts goes on for a
/// moment beside the next owner.
final class Lease {
    private let redis: any RedisPipeline
    private let key: [UInt8]
    private let slot: RedisSlot
    private let duration: Duration
    private let owner: String

    /// - Parameters:
    ///   - owner: nobody else's.
    ///   - duration: how long it lasts when it is not held again.
    init(_ redis: any RedisPipeline, key: String, owner: String, duration: Duration) {
        self.redis = redis
        self.key = Array(key.utf8)
        self.owner = owner
        self.duration = duration
        slot = RedisSlot(key: self.key)
    }

    /// Taking and renewing are one, so that asking again after an answer that was lost finds what is ours.
    private static let hold = RedisScript(
        """
        local owner = redis.call('GET', KEYS[1])
        if owner and owner ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
        """
    )
    private static let release = RedisScript(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
    )

    /// Takes the lease if it is free, or holds it for longer if it is ours. Calls back once: whether it is ours now.
    func hold(_ answered: @escaping (Result<Bool, RedisError>) -> Void) {
        redis.evaluate(Self.hold, slot: slot, keyCount: 1, argumentCount: 2) { writer in
            writer.argument(key)
            writer.argument(owner)
            writer.argument(Int(duration / .milliseconds(1)))
        } _: { result in
            answered(result.map { $0.integer == 1 })
        }
    }

    /// Until when a lease is ours, by the answers to ``Lease/hold(_:)``.
    struct Term {
        let duration: Duration
        private var until: MonotonicTime?

        init(duration: Duration) {
            self.duration = duration
        }

        /// An answer has come, or was not to be had, which says nothing: what is ours is ours for as long as it lasts.
        ///
        /// - Parameter askedAt: from then on it lasts, at least.
        /// - Returns: whether it is ours.
        mutating func answered(_ answer: Result<Bool, RedisError>, askedAt: MonotonicTime, now: MonotonicTime) -> Bool {
            switch answer {
            case .success(true): until = askedAt + duration
            case .success(false): until = nil
            case .failure: break
            }
            return until.map { now < $0 } ?? false
        }
    }

    /// Gives it back if it is ours. Calls back whatever becomes of it: a lease that is not renewed is free after a while.
    func release(_ done: @escaping () -> Void) {
        redis.evaluate(Self.release, slot: slot, keyCount: 1, argumentCount: 1) { writer in
            writer.argument(key)
            writer.argument(owner)
        } _: { _ in
            done()
        }
    }
}
