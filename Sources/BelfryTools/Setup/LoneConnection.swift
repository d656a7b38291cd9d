import BelfrySupport
import NIOCore
import NIOPosix
import TLSTransport

/// A connection to one server for a single exchange, opened in the way of the roles.
enum LoneConnection {
    /// - Parameters:
    ///   - proxy: leads to the server; nil: the connection goes there by itself.
    ///   - patience: for connecting, and again for a proxy's answer.
    ///   - staysHalfOpen: the end of the server's side leaves ours open.
    ///   - makeHandler: makes the handler that hears how TLS goes; called on the event loop.
    /// - Returns: the channel, on which TLS has begun.
    static func open(
        to host: HostPort,
        through proxy: ProxySettings?,
        _ tls: TLSContext,
        patience: TimeAmount,
        staysHalfOpen: Bool = false,
        on eventLoop: any EventLoop,
        _ makeHandler: @escaping @Sendable () -> any ChannelHandler
    ) -> EventLoopFuture<any Channel> {
        let connecting = eventLoop.makePromise(of: (any Channel).self)
        eventLoop.execute {
            let bootstrap = ClientBootstrap(group: eventLoop)
                .channelOption(.allowRemoteHalfClosure, value: staysHalfOpen)
            let addresses = ServiceAddresses([host], through: proxy, eventLoop: eventLoop)
            addresses.connect(bootstrap, turn: 0, timeout: patience) { result in
                connecting.completeWith(
                    Result {
                        let connection = try result.get()
                        try connection.beginTLS(tls, makeHandler())
                        return connection.channel
                    }
                )
            }
        }
        return connecting.futureResult
    }
}
