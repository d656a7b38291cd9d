import NIOCore

/// Limits of a port over HTTP. Any client may try to hold it up: probes and pages show no token.
package struct PortLimits: Sendable {
    /// Most connections at once, at least 1. With one more the one goes that has been quiet for longest.
    package let connections: Int
    /// The longest head of a request: its target, and the names and values of its fields.
    package let headBytes: Int
    /// The longest body of a request: a longer one ends the connection.
    package let bodyBytes: Int
    /// A connection that has asked nothing and was told nothing for so long is closed, however many bytes it dribbles.
    package let idleTimeout: TimeAmount

    /// - Parameters:
    ///   - bodyBytes: left out where requests with longer bodies are answered.
    ///   - idleTimeout: longer than the usual minute between two scrapes.
    package init(
        connections: Int,
        headBytes: Int,
        bodyBytes: Int = .max,
        idleTimeout: TimeAmount = .seconds(90)
    ) {
        precondition(connections > 0, "a port takes connections")
        self.connections = connections
        self.headBytes = headBytes
        self.bodyBytes = bodyBytes
        self.idleTimeout = idleTimeout
    }
}
