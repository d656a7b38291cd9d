import BelfrySupport
import NIOCore
import NIOPosix
import SocketErrors
import TLSTransport

/// One TLS handshake with a server, and nothing more: no byte of an application follows it.
enum GatewayHandshake {
    /// The reason why there was no handshake.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// The proxy itself is the trouble, whichever server is asked for.
        var isOfProxy = false
    }

    /// - Parameters:
    ///   - proxy: leads to the server; nil: the connection goes there by itself.
    ///   - patience: for connecting and the handshake together; with a proxy three times as long, so that the proxy
    ///     is told if it is away or silent: for connecting to it, its answer and the handshake.
    static func carryOut(
        with address: HostPort,
        through proxy: ProxySettings?,
        _ context: TLSContext,
        patience: TimeAmount
    ) async throws(Failure) -> TLSHandshakeCompleted {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let done = eventLoop.makePromise(of: TLSHandshakeCompleted.self)
        let limit = proxy == nil ? patience : .nanoseconds(3 * patience.nanoseconds)
        let deadline = eventLoop.scheduleTask(in: limit) {
            done.fail(Failure(description: "no handshake within \(limit.nanoseconds / 1_000_000_000) s"))
        }
        let connected = LoneConnection.open(to: address, through: proxy, context, patience: patience, on: eventLoop) {
            Witness(done)
        }
        connected.whenFailure { done.fail($0) }
        defer {
            deadline.cancel()
            connected.whenSuccess { $0.close(promise: nil) }
        }
        do {
            return try await done.futureResult.get()
        } catch {
            let isOfProxy = (error as? ProxyFailure).map { !$0.isOfTarget } ?? false
            throw Failure(description: connectionProblem(error), isOfProxy: isOfProxy)
        }
    }

    /// Tells the result; the first one counts.
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let done: EventLoopPromise<TLSHandshakeCompleted>

        init(_ done: EventLoopPromise<TLSHandshakeCompleted>) {
            self.done = done
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? TLSHandshakeCompleted { done.succeed(event) }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            done.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            done.fail(Failure(description: "the server closed the connection in the handshake"))
            context.fireChannelInactive()
        }
    }
}
