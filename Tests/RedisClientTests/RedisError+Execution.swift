import RedisClient

extension RedisError {
    /// It is unknown whether the command ran.
    var mayHaveExecuted: Bool {
        switch self {
        case .maybeExecuted, .timeout: true
        case .notSent, .server, .closed: false
        }
    }
}
