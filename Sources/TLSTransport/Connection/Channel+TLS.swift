import NIOCore

extension Channel {
    /// Begins TLS as a client over a connection that stands; `handler` hears how it goes. Closes the connection if that
    /// fails. Called on the channel's event loop.
    ///
    /// - Parameter serverName: see ``TLSHandler/init(context:serverName:closeTimeout:)``.
    public func beginTLS(_ context: TLSContext, serverName: String, _ handler: any ChannelHandler) throws {
        do {
            let operations = pipeline.syncOperations
            // Before the other one, which begins when it is added, and may end the connection at once.
            try operations.addHandler(handler)
            try operations.addHandler(TLSHandler(context: context, serverName: serverName), position: .first)
        } catch {
            close(mode: .all, promise: nil)
            throw error
        }
    }
}
