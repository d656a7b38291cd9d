import NIOCore

/// Ends connections so that the last thing said arrives.
///
/// Closing a socket while bytes of the peer are unread, or arrive later, makes the kernel answer with a reset, and a
/// reset can overtake what was written before it [field]. So a `close(mode: .output)` from behind says goodbye (the
/// transport in front sends its close_notify and the end of the stream) and reading goes on until the peer closes too,
/// or has had ``SandboxLimits/linger`` to do so.
///
/// Belongs to the channel's event loop.
final class FarewellHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private var hasPeerClosed = false
    private var hasSaidGoodbye = false
    private var deadline: Scheduled<Void>?

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output, !hasPeerClosed else {
            context.close(mode: mode == .output ? .all : mode, promise: promise)
            return
        }
        guard !hasSaidGoodbye else {
            promise?.succeed()
            return
        }
        hasSaidGoodbye = true
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.linger) {
            context.close(promise: nil)
        }
        context.close(mode: .output, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            hasPeerClosed = true
            if hasSaidGoodbye { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }
}
