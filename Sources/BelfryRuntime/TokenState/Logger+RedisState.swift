import Logging
import RedisClient

extension Logger {
    /// A connection to Redis came up, or was lost, or was not to be had.
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
