import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import RedisClient
import Synchronization

/// Tells in the log how a process's connections to Redis fare, each piece of news once. Thread-safe.
package final class RedisLog: Sendable {
    private struct State {
        var news = RedisNews()
        var clients = 0
    }

    private let logger: Logger
    private let state = Mutex(State())

    package init(logger: Logger) {
        self.logger = logger
    }

    /// Takes what one more client has to tell.
    package func makeClient() -> @Sendable (RedisConnectionState) -> Void {
        let client = state.withLock { state in
            state.clients += 1
            return state.clients
        }
        return { [self] news in
            let now = MonotonicTime(.now())
            if state.withLock({ $0.news.isTold(news, by: client, now: now) }) { logger.report(news) }
        }
    }
}

/// Decides which news of a process's clients of Redis are told. Pure.
///
/// All of them lose a server at the same time and try again on their own: one of them speaks for each server that is
/// away, the same reason once a minute, and the server is back when the last of them is connected.
struct RedisNews: Equatable, Sendable {
    /// The client that tells that a server is away.
    private struct Speaker: Equatable {
        let client: Int
        /// The reasons of the last minute. They may take turns.
        var told: [String: MonotonicTime] = [:]

        mutating func tells(_ reason: String, now: MonotonicTime) -> Bool {
            told = told.filter { $0.value.elapsed(until: now) < RedisNews.repetition }
            guard told[reason] == nil else { return false }
            told[reason] = now
            return true
        }
    }

    /// The same reason is told again after this time. [ours]
    private static let repetition = Duration.seconds(60)

    /// By the server's address.
    private var speakers: [String: Speaker] = [:]
    /// Clients that have lost a server, and are not connected again.
    private var away: Set<Int> = []
    private var isConnectedTold = false

    mutating func isTold(_ state: RedisConnectionState, by client: Int, now: MonotonicTime) -> Bool {
        switch state {
        case .connected:
            away.remove(client)
            speakers = speakers.filter { $0.value.client != client }
            guard away.isEmpty, !isConnectedTold else { return false }
            isConnectedTold = true
            return true
        case .disconnected(let cause):
            away.insert(client)
            isConnectedTold = false
            var speaker = speakers[cause.address] ?? Speaker(client: client)
            guard speaker.client == client else { return false }
            defer { speakers[cause.address] = speaker }
            return speaker.tells(cause.reason, now: now)
        }
    }
}

extension Logger {
    /// Tells of a connection to Redis.
    func report(_ state: RedisConnectionState) {
        switch state {
        case .connected:
            info("connected to Redis")
        case .disconnected(let cause):
            // A wrong password does not mend itself, however often it is tried.
            log(
                level: cause.isAuthenticationFailure ? .critical : .warning,
                "no connection to Redis; trying again",
                metadata: [
                    "redis": "\(cause.address)", "reason": "\(cause.reason)",
                    "attempt": .stringConvertible(cause.attempt),
                ]
            )
        }
    }
}
