import NIOCore
import SocketErrors

/// TLS for a channel, client or server: plaintext `ByteBuffer`s on the side of the application's handlers, ciphertext
/// on the side of the socket.
///
/// Add one per channel, before or after it becomes active. Everything runs on the channel's event loop.
///
/// **Events.** ``TLSHandshakeCompleted`` comes once. Errors come through `errorCaught`, each once, as ``TLSError`` (or
/// the socket's own after the handshake); after one the handler ends the connection by itself. The plaintext that
/// arrived before an error or a close is always delivered first.
///
/// **Writing.** Writes before the end of the handshake wait in memory without limit; a careful pipeline starts at the
/// event. Each `flush` encrypts everything written, in whole 16 KiB records if there is that much, and makes one write
/// to the socket. A write's promise is fulfilled when the socket has taken the bytes.
///
/// **Ending.** `close()` sends close_notify and the end of stream after the flushed bytes, and closes the socket as
/// soon as the peer has ended its side too, after `closeTimeout` at the latest; `close(mode: .output)` does the first
/// half and goes on reading. The peer's close_notify ends the connection the same way, or with the channel option
/// `allowRemoteHalfClosure` fires `ChannelEvent.inputClosed` and leaves the writing side open. An end of the stream
/// without close_notify is ``TLSError/uncleanShutdown``.
///
/// **An answer before a reset.** When a gateway answers and closes, our next write fails. On a failed write (EPIPE,
/// ECONNRESET) NIO's socket channel reads everything that the kernel still holds before it closes, and Linux keeps
/// received data through a reset: so the answer is delivered, inside that `flush`, and then `channelInactive`. Handlers
/// must therefore expect `channelRead` and `channelInactive` while they call `flush`. This needs `autoRead` (or a
/// pending read) at that time.
public final class TLSHandler: ChannelDuplexHandler {
    public typealias InboundIn = ByteBuffer
    public typealias InboundOut = ByteBuffer
    public typealias OutboundIn = ByteBuffer
    public typealias OutboundOut = ByteBuffer

    private let tls: TLSContext
    private let serverName: String?
    private let closeTimeout: TimeAmount

    private var state = TLSHandlerStateMachine()
    private var session: TLSSession?
    private var queue = PlaintextQueue()
    private var closeTimer: Scheduled<Void>?

    /// A flush came before the end of the handshake.
    private var flushIsDue = false
    /// A `read` has not been answered with plaintext yet (matters when `autoRead` is off).
    private var readIsDue = false

    /// Bytes handed to the socket's channel since the connection began, the handshake and what went before it included.
    /// This is the position of the last flushed byte in the TCP stream, once all of it is sent.
    public private(set) var ciphertextBytes: UInt64

    /// - Parameters:
    ///   - context: identity, trust and role.
    ///   - serverName: on a client the host whose certificate is expected, required: a DNS name (also sent as SNI) or
    ///     an IP address as text, validated against the certificate's IP entries. `nil` on a server.
    ///   - sentBytes: bytes that were written to the socket before TLS, to a proxy for instance.
    ///   - closeTimeout: the longest wait for the peer's end of stream, and for the sending of flushed bytes.
    public init(
        context: TLSContext,
        serverName: String?,
        sentBytes: Int = 0,
        closeTimeout: TimeAmount = .seconds(2)
    ) {
        precondition(
            (serverName != nil) == (context.role == .client),
            "a client names the host it wants to reach, a server does not"
        )
        tls = context
        self.serverName = serverName
        ciphertextBytes = UInt64(sentBytes)
        self.closeTimeout = closeTimeout
    }

    /// Nothing is written or read for now: frees the memory that the connection only needs for that, some 50 KiB.
    ///
    /// Call it on the channel's event loop, not from within an event of the channel.
    ///
    /// - Returns: false in the midst of a record, whose part keeps its memory, and without a session.
    @discardableResult
    public func rest() -> Bool { session?.rest() ?? false }

    public func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive {
            begin(context)
        }
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        closeTimer?.cancel()
        closeTimer = nil
        queue.fail(ChannelError.ioOnClosedChannel)
        session = nil
    }

    // MARK: Inbound

    public func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        begin(context)
    }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session else { return }
        switch state.ciphertextUse {
        case .handshake:
            session.feed(unwrapInboundIn(data))
            shakeHands(context, session)
        case .decrypt:
            session.feed(unwrapInboundIn(data))
            decrypt(context, session)
        case .discard:
            break
        }
    }

    public func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // With autoRead off no other handler requests the bytes that complete a record, or a handshake.
        if readIsDue || state.needsInputForItself {
            context.read()
        }
    }

    public func channelInactive(context: ChannelHandlerContext) {
        closeTimer?.cancel()
        closeTimer = nil
        let error = state.deactivated()
        queue.fail(error ?? ChannelError.ioOnClosedChannel)
        if let error { context.fireErrorCaught(error) }
        context.fireChannelInactive()
    }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The socket's end of stream; the next handlers were told at the peer's close_notify.
        guard case .some(.inputClosed) = event as? ChannelEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        let (error, closes) = state.inputEnded()
        if let error { context.fireErrorCaught(error) }
        if closes { context.close(promise: nil) }
    }

    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if state.transportFailed(connectionProblem(error)) {
            context.fireErrorCaught(error)
        }
    }

    // MARK: Outbound

    public func read(context: ChannelHandlerContext) {
        readIsDue = true
        context.read()
    }

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch state.writeUse {
        case .queue, .encrypt:
            queue.append(unwrapOutboundIn(data), promise: promise)
        case .refuse:
            promise?.fail(ChannelError.outputClosed)
        }
    }

    public func flush(context: ChannelHandlerContext) {
        switch state.writeUse {
        case .queue:
            flushIsDue = true
        case .encrypt:
            encryptAndSend(context)
        case .refuse:
            break
        }
    }

    public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input:
            // TLS has no way to tell the peer.
            promise?.fail(ChannelError.operationUnsupported)
        case .output:
            switch state.closeRequested(.output) {
            case .refuse, .none:
                promise?.fail(ChannelError.outputClosed)
            case let action:
                end(context, action, promise: promise)
            }
        case .all:
            switch state.closeRequested(.all) {
            case .closeNow, .refuse:
                context.close(promise: promise)
            case let action:
                context.channel.closeFuture.cascade(to: promise)
                end(context, action, promise: nil)
            }
        }
    }
}

// MARK: The connection's life

extension TLSHandler {
    private func begin(_ context: ChannelHandlerContext) {
        guard state.activated() else { return }
        do throws(TLSError) {
            let session = try TLSSession(context: tls, serverName: serverName)
            self.session = session
            shakeHands(context, session)
            // Also with autoRead off.
            if state.needsInputForItself { context.read() }
        } catch {
            fail(context, error)
        }
    }

    private func shakeHands(_ context: ChannelHandlerContext, _ session: TLSSession) {
        switch session.handshake() {
        case .needsInput:
            send(context, promise: nil)
        case .failed(let error):
            fail(context, error)
        case .completed:
            state.handshakeCompleted()
            // The event comes before anything is sent: sending may find the socket dead and end the channel.
            context.fireUserInboundEventTriggered(
                TLSHandshakeCompleted(
                    version: session.version,
                    cipher: session.cipher,
                    applicationProtocol: session.applicationProtocol,
                    peer: session.peer
                )
            )
            if flushIsDue, state.writeUse == .encrypt {
                encryptAndSend(context)
            } else {
                send(context, promise: nil)
            }
            // Bytes that came with the peer's last handshake message are inside OpenSSL already.
            if state.ciphertextUse == .decrypt {
                decrypt(context, session)
            }
        }
    }

    private func decrypt(_ context: ChannelHandlerContext, _ session: TLSSession) {
        var plaintext = context.channel.allocator.buffer(capacity: session.incoming.readableBytes)
        let step = session.read(into: &plaintext)
        if plaintext.readableBytes > 0 {
            readIsDue = false
            context.fireChannelRead(wrapInboundOut(plaintext))
        }
        switch step {
        case .needsInput:
            // OpenSSL may have answered by itself (a key update).
            send(context, promise: nil)
        case .closeNotify:
            let halfClosure = try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)
            let (tells, end) = state.closeNotifyReceived(allowsHalfClosure: halfClosure ?? false)
            if tells { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
            self.end(context, end, promise: nil)
        case .failed(let error):
            fail(context, error)
        }
    }

    private func encryptAndSend(_ context: ChannelHandlerContext) {
        guard let session else { return }
        flushIsDue = false
        if let error = queue.encrypt(with: session) {
            fail(context, error)
        } else {
            send(context, promise: queue.takePromise())
        }
    }

    /// Hands OpenSSL's output to the socket. May re-enter this handler, see "An answer before a reset".
    private func send(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        guard let session, let ciphertext = session.takeOutgoing() else {
            promise?.succeed()
            return
        }
        ciphertextBytes += UInt64(ciphertext.readableBytes)
        context.write(wrapOutboundOut(ciphertext), promise: promise)
        context.flush()
        session.recycle(ciphertext)
    }

    private func fail(_ context: ChannelHandlerContext, _ error: TLSError) {
        guard case .report(let end) = state.failed() else { return }
        queue.fail(error)
        // Reported before the alert goes out, for the same reason as the end of the handshake.
        context.fireErrorCaught(error)
        self.end(context, end, promise: nil, saysGoodbye: false)
    }

    /// - Parameter saysGoodbye: false after a failure: the alert prepared by OpenSSL is more precise than close_notify.
    private func end(
        _ context: ChannelHandlerContext,
        _ action: TLSHandlerStateMachine.EndAction,
        promise: EventLoopPromise<Void>?,
        saysGoodbye: Bool = true
    ) {
        switch action {
        case .none:
            // A failure may have left an alert.
            send(context, promise: nil)
        case .closeNow, .refuse:
            context.close(promise: promise)
        case .sendEnd, .sendEndAndLinger:
            queue.fail(ChannelError.outputClosed)
            if saysGoodbye { session?.closeNotify() }
            send(context, promise: nil)
            // The channel keeps the order: it ends its stream after the waiting writes.
            context.close(mode: .output, promise: promise)
            if action == .sendEndAndLinger { startCloseTimer(context) }
        case .linger:
            send(context, promise: nil)
            startCloseTimer(context)
        }
    }

    private func startCloseTimer(_ context: ChannelHandlerContext) {
        guard closeTimer == nil, context.channel.isActive else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        closeTimer = context.eventLoop.scheduleTask(in: closeTimeout) {
            bound.value.close(promise: nil)
        }
        // Only an end of stream is awaited, and with autoRead off it would stay unseen.
        context.read()
    }
}

@available(*, unavailable)
extension TLSHandler: Sendable {}
