import PipelineCore
import PushTopics
import RedisClient

/// A key in Redis that one process at a time holds for a while, named by its owner. On the event loop of its Redis
/// client.
///
/// The lease avoids double work, but does not make it impossible: an owner suspended for longer than the lease lasts
/// goes on for a moment beside the next owner.
package final class Lease {
    private let redis: any RedisPipeline
    private let key: [UInt8]
    private let slot: RedisSlot
    private let duration: Duration
    private let owner: String

    /// - Parameters:
    ///   - owner: a name that no other process uses.
    ///   - duration: the life of the lease without a renewal.
    package init(_ redis: any RedisPipeline, key: String, owner: String, duration: Duration) {
        self.redis = redis
        self.key = Array(key.utf8)
        self.owner = owner
        self.duration = duration
        slot = RedisSlot(key: self.key)
    }

    /// Takes or renews the lease. One script does both, so that a second request after a lost answer finds our own
    /// lease.
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

    /// Takes the lease if it is free, or renews it if it is ours. Calls back once: true if it is ours now.
    package func hold(_ answered: @escaping (Result<Bool, RedisError>) -> Void) {
        redis.evaluate(Self.hold, slot: slot, keyCount: 1, argumentCount: 2) { writer in
            writer.argument(key)
            writer.argument(owner)
            writer.argument(Int(duration / .milliseconds(1)))
        } _: { result in
            answered(result.map { $0.integer == 1 })
        }
    }

    /// The end of a lease's certain term, from the answers to ``Lease/hold(_:)``.
    package struct Term {
        let duration: Duration
        private var until: MonotonicTime?

        package init(duration: Duration) {
            self.duration = duration
        }

        /// Takes an answer. A missing answer changes nothing: our lease stays ours for its duration.
        ///
        /// - Parameter askedAt: the time of the request; the lease lasts at least its duration from then on.
        /// - Returns: true if the lease is ours.
        package mutating func answered(
            _ answer: Result<Bool, RedisError>,
            askedAt: MonotonicTime,
            now: MonotonicTime
        ) -> Bool {
            switch answer {
            case .success(true): until = askedAt + duration
            case .success(false): until = nil
            case .failure: break
            }
            return until.map { now < $0 } ?? false
        }
    }

    /// Gives the lease back if it is ours. Calls back in any case: a lease that is not renewed is free after a while.
    package func release(_ done: @escaping () -> Void) {
        redis.evaluate(Self.release, slot: slot, keyCount: 1, argumentCount: 1) { writer in
            writer.argument(key)
            writer.argument(owner)
        } _: { _ in
            done()
        }
    }
}
