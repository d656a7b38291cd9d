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
    }

    /// - Parameter patience: for connecting and the handshake together.
    static func carryOut(
        with address: HostPort,
        _ context: TLSContext,
        patience: TimeAmount
    ) async throws(Failure) -> TLSHandshakeCompleted {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let done = eventLoop.makePromise(of: TLSHandshakeCompleted.self)
        let deadline = eventLoop.scheduleTask(in: patience) {
            done.fail(Failure(description: "no handshake within \(patience.nanoseconds / 1_000_000_000) s"))
        }
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(patience)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: context, serverName: address.host), Witness(done),
                    ])
                }
            }
            .connect(host: address.host, port: address.port)
        connecting.whenFailure { done.fail($0) }
        defer {
            deadline.cancel()
            connecting.whenSuccess { $0.close(promise: nil) }
        }
        do {
            return try await done.futureResult.get()
        } catch {
            throw Failure(description: connectionProblem(error))
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
