import NIOCore

/// Limits of a port with a page. Any client may try to hold it up: it asks for no token.
package enum PortLimits {
    /// Most connections at once. With one more the one goes that has been quiet for longest. A browser opens six and
    /// one for its page's events.
    package static let connections = 256
    /// A connection that has asked nothing and was told nothing for so long is closed, however many bytes it dribbles.
    package static let idleTimeout = TimeAmount.seconds(90)
}
