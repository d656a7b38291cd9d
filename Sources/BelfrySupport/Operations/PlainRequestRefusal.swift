import NIOCore

/// Tells clients that speak plain HTTP to a port with TLS that it speaks TLS: the handler before that of TLS.
///
/// The first byte of a connection decides: a handshake begins with a record of its own type (RFC 8446 §5.1).
final class PlainRequestRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// No byte has come.
        case waiting
        /// TLS is spoken. For good.
        case passing
        /// The refusal is sent; what comes is dropped until the peer ends the connection. For good.
        case refused
    }

    private var state = State.waiting

    private static let handshakeRecord: UInt8 = 22
    private static let words = "This port speaks TLS: use https.\n"
    private static let refusal =
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n"
        + "content-length: \(words.utf8.count)\r\n\r\n\(words)"

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .waiting = state, let first = unwrapInboundIn(data).readableBytesView.first {
            state = first == Self.handshakeRecord ? .passing : .refused
            if case .refused = state { refuse(context) }
        }
        if case .passing = state { context.fireChannelRead(data) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .refused = state, case .some(.inputClosed) = event as? ChannelEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Ends our side alone: a socket that is closed with unread bytes would reset, and destroy the words.
    private func refuse(_ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: Self.refusal)), promise: nil)
        context.close(mode: .output, promise: nil)
    }
}

@available(*, unavailable)
extension PlainRequestRefusal: Sendable {}
