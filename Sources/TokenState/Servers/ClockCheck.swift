import BelfrySupport
import Foundation
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient

/// Asks Redis for its time again and again, and tells whether the host's clock may decide anything (``ClockWatch``).
///
/// On its event loop.
package final class ClockCheck {
    private let redis: any RedisPipeline
    private let eventLoop: any EventLoop
    private let unixMilliseconds: () -> Int64
    private let logger: Logger
    private var watch = ClockWatch()
    private var isAsking = false
    private var isTold = false
    private var asking: RepeatingTimer?

    private static let interval = TimeAmount.seconds(5)
    /// Any server's clock will do.
    private static let slot = RedisSlot(key: Array("k:tokens".utf8))

    /// - Parameter unixMilliseconds: the host's clock.
    package init(
        redis: any RedisPipeline,
        eventLoop: any EventLoop,
        logger: Logger,
        unixMilliseconds: @escaping () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    ) {
        self.redis = redis
        self.eventLoop = eventLoop
        self.logger = logger
        self.unixMilliseconds = unixMilliseconds
    }

    /// Asks from now on, every 5 s.
    package func start() {
        asking = eventLoop.repeating(after: .zero, every: Self.interval) { [unowned self] in ask() }
    }

    /// Asks no more. Idempotent.
    package func close() {
        asking?.cancel()
        asking = nil
    }

    /// The broker has just appended a record, and says when.
    package func appended(atMilliseconds time: Int64) {
        watch.heard(.broker, unixMilliseconds: time, now: now)
    }

    /// The host's clock may decide.
    package var mayDecide: Bool { verdict == .inLine }

    /// The reason in words why it may not; nil: it may, or is not compared yet.
    package var obstacle: String? {
        guard case .outOfLine(let ahead) = verdict else { return nil }
        let side = ahead > 0 ? "ahead of" : "behind"
        return "the clock of this host is \(ahead.magnitude) s \(side) that of Redis: nothing is decided by it"
    }

    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    private var verdict: ClockWatch.Verdict { watch.verdict(host: unixMilliseconds(), now: now) }

    private func ask() {
        tell()
        guard !isAsking else { return }
        isAsking = true
        redis.readClock(slot: Self.slot) { [weak self] result in
            guard let self else { return }
            isAsking = false
            switch result {
            case .success(let milliseconds): watch.heard(.redis, unixMilliseconds: milliseconds, now: now)
            case .failure(.server(prefix: "NOPERM", _)): watch.cannotTell()
            case .failure: break
            }
            tell()
        }
    }

    private func tell() {
        guard case .outOfLine(let ahead) = verdict else {
            if isTold, mayDecide {
                isTold = false
                logger.notice("host's clock is in line again")
            }
            return
        }
        guard !isTold else { return }
        isTold = true
        logger.critical(
            "host's clock is out of line with Redis and brokers; nothing is decided by it",
            metadata: ["ahead-seconds": "\(ahead)"]
        )
    }
}
