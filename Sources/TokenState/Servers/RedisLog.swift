import Logging
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
            if state.withLock({ $0.news.isTold(news, by: client) }) { logger.report(news) }
        }
    }
}

/// Decides which news of a process's clients of Redis are told. Pure.
///
/// All of them lose a server at the same time and try again on their own: one of them speaks for each server that is
/// away, and the server is back when the last of them is connected.
struct RedisNews: Equatable, Sendable {
    /// By the server's address: the client that tells that it is away.
    private var speakers: [String: Int] = [:]
    /// Clients that have lost a server, and are not connected again.
    private var away: Set<Int> = []
    private var isConnectedTold = false

    mutating func isTold(_ state: RedisConnectionState, by client: Int) -> Bool {
        switch state {
        case .connected:
            away.remove(client)
            speakers = speakers.filter { $0.value != client }
            guard away.isEmpty, !isConnectedTold else { return false }
            isConnectedTold = true
            return true
        case .disconnected(let cause):
            away.insert(client)
            isConnectedTold = false
            guard let speaker = speakers[cause.address] else {
                speakers[cause.address] = client
                return true
            }
            return speaker == client
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
