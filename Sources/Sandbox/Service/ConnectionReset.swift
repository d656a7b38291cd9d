import Glibc
import NIOCore

/// An outbound event: cut the connection with a reset, at once and without a word. ``ConnectionResetHandler`` does it.
struct ConnectionReset: Sendable {}

/// Stands next to the socket, in front of TLS and farewells, and resets the connection when it is told to.
///
/// Belongs to the channel's event loop.
final class ConnectionResetHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is ConnectionReset else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        // A socket that is closed with this option drops what was not sent and resets its peer (socket(7), tcp(7)).
        if let socket = context.channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(promise: promise)
    }
}
