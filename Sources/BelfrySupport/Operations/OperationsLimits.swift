import NIOCore

/// Limits of the operations endpoint. Probes show no token, so that any client may try to hold it up.
enum OperationsLimits {
    /// A connection that has asked nothing and was told nothing for so long is closed, however many bytes it dribbles.
    /// Longer than the usual minute between two scrapes.
    static let idleTimeout = TimeAmount.seconds(90)
    /// The longest head of a request: its line and its fields, with the empty line behind them. Far more than a
    /// scraper or a probe sends. Bodies, which are not needed here, count for the next head.
    static let headBytes = 8 << 10
    /// Most connections at once. With one more the one goes that has been quiet for longest: a probe gets through.
    static let connections = 64
    /// Longest wait for the peer's end of a connection over TLS that has to go.
    static let closeTimeout = TimeAmount.milliseconds(500)
}
