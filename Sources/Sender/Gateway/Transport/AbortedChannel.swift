import Glibc
import NIOCore
import TLSTransport

/// Ends a channel at once, whatever it still buffers. On the channel's event loop.
enum AbortedChannel {
    static func abort(_ context: ChannelHandlerContext) {
        abort(context.channel)
    }

    /// - Parameter error: is told to the channel's handlers before.
    static func abort(_ channel: any Channel, because error: (any Error)? = nil) {
        // Otherwise the kernel goes on sending its buffered bytes, long after the socket is gone.
        if let socket = channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        if let error { channel.pipeline.syncOperations.fireErrorCaught(error) }
        // Past the TLS handler, which would send close_notify and wait for the answer.
        guard let tls = try? channel.pipeline.syncOperations.context(handlerType: TLSHandler.self) else {
            return channel.close(mode: .all, promise: nil)
        }
        tls.close(mode: .all, promise: nil)
    }
}
