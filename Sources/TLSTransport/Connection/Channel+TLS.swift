import NIOCore

extension Channel {
    /// Begins TLS as a client over a connection that stands; `handler` hears how it goes. Closes the connection if that
    /// fails. Called on the channel's event loop.
    ///
    /// - Parameters:
    ///   - serverName: see ``TLSHandler/init(context:serverName:sentBytes:closeTimeout:)``.
    ///   - sentBytes: see there.
    public func beginTLS(
        _ context: TLSContext,
        serverName: String,
        sentBytes: Int = 0,
        _ handler: any ChannelHandler
    ) throws {
        do {
            let operations = pipeline.syncOperations
            // Before the other one, which begins when it is added, and may end the connection at once.
            try operations.addHandler(handler)
            let tls = TLSHandler(context: context, serverName: serverName, sentBytes: sentBytes)
            try operations.addHandler(tls, position: .first)
        } catch {
            close(mode: .all, promise: nil)
            throw error
        }
    }
}
