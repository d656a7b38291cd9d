import PipelineCore
import RedisClient

/// A client of Redis that measures some round trips: from the sending of a command to its reply. Repetitions after a
/// redirection count as one.
package final class TimedRedis: RedisPipeline {
    private let redis: any RedisPipeline
    private let clock: () -> MonotonicTime
    private var sampler = RoundTripSampler()
    /// Commands sent.
    private var sent: UInt64 = 0

    package init(_ redis: any RedisPipeline, clock: @escaping () -> MonotonicTime) {
        self.redis = redis
        self.clock = clock
    }

    package var roundTrips: Histogram? { sampler.roundTrips }
    package var isReady: Bool { redis.isReady }
    package var detours: Int { redis.detours }
    package func start() { redis.start() }
    package func close() { redis.close() }

    package func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        redis.send(slot: slot, write, measured(completion))
    }

    package func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        to receiver: any RedisReceiver,
        number: Int
    ) {
        guard let mark = beginSample() else { return redis.send(slot: slot, write, to: receiver, number: number) }
        redis.send(slot: slot, write, ending(mark) { receiver.received($0, for: number) })
    }

    package func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        redis.evaluate(
            script,
            slot: slot,
            keyCount: keyCount,
            argumentCount: argumentCount,
            write,
            measured(completion)
        )
    }

    /// The completion itself, unless its command becomes the sample.
    private func measured(_ completion: @escaping RedisConnection.Completion) -> RedisConnection.Completion {
        guard let mark = beginSample() else { return completion }
        return ending(mark, completion)
    }

    /// A command is sent. Returns its mark if it becomes the sample.
    private func beginSample() -> UInt64? {
        sent += 1
        return sampler.begin(sent, now: clock()) ? sent : nil
    }

    private func ending(
        _ mark: UInt64,
        _ completion: @escaping RedisConnection.Completion
    ) -> RedisConnection.Completion {
        { [self] result in
            if case .success = result {
                sampler.end(mark, isAnswered: true, now: clock())
            } else {
                sampler.end(mark, isAnswered: false, now: clock())
            }
            completion(result)
        }
    }
}
