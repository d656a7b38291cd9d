import HTTP2Transport
import Logging
import NIOCore
import TLSTransport

/// The shell around an ``APISession``: waits for the handshake, hands the session what is read, wakes it, and writes
/// what it says, once for all that the socket had. What is read comes through a ``ReadingGate``, which this handler
/// puts in front of itself.
///
/// A client that does not read is written no more; what is said to it then counts in the session.
///
/// Belongs to the channel's event loop.
final class APIHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let overLimit = "a fault: the topic has enough connections"

    private let service: PushService
    private let keys: ProviderKeyRing
    private let logger: Logger
    private let gate = ReadingGate(topic: nil)
    private var session: APISession?
    private var output = ByteBuffer()
    private var isRefused = false
    private var isInputClosed = false
    private var isClosing = false
    private var isWriting = false
    private var deadline: Scheduled<Void>?
    private var alarm: Scheduled<Void>?
    private var alarmTime: NIODeadline?

    init(service: PushService, keys: ProviderKeyRing, logger: Logger) {
        self.service = service
        self.keys = keys
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandler(gate, position: .before(self))
        } catch {
            // The channel was closed by a handler in front of this one.
            context.close(promise: nil)
        }
        service.countConnections {
            $0.open += 1
            $0.total += 1
        }
        let service = service
        context.channel.closeFuture.whenComplete { _ in service.countConnections { $0.open -= 1 } }
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.handshake) {
            self.refuse(context, reason: "the handshake took too long")
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        leave()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let handshake = event as? TLSHandshakeCompleted {
            begin(context, handshake)
        } else if event as? ChannelEvent == .inputClosed {
            isInputClosed = true
            proceed(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session, !isClosing else { return }
        session.receive(unwrapInboundIn(data), now: time(context))
        if let (topic, stall) = session.takeStall() {
            gate.serve(topic)
            gate.begin(stall, of: topic, rest: ByteBuffer())
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        proceed(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        proceed(context)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if session == nil {
            refuse(context, reason: "\(error)")
        } else {
            logger.debug("provider API connection failed", metadata: ["error": "\(error)"])
            context.close(promise: nil)
        }
    }

    private func time(_ context: ChannelHandlerContext) -> APISession.Time {
        APISession.Time(clock: context.eventLoop.now, unixSeconds: service.now)
    }

    // MARK: Begin and end

    private func begin(_ context: ChannelHandlerContext, _ handshake: TLSHandshakeCompleted) {
        deadline?.cancel()
        let session = APISession(
            service: service,
            certificate: handshake.peer,
            keys: keys.keys(),
            address: context.channel.remoteAddress?.ipAddress ?? "",
            isHTTP2: handshake.applicationProtocol == "h2",
            seed: .random(in: 0 ... .max)
        )
        self.session = session
        guard session.admit() else {
            refuse(context, reason: Self.overLimit)
            return
        }
        service.count(context.channel, of: handshake.peer)
        listen(context)
        proceed(context)
    }

    /// Asks to be told when faults change.
    private func listen(_ context: ChannelHandlerContext) {
        let eventLoop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        service.bell.listen(self) {
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.session?.faultsChanged()
                handler.proceed(context)
            }
        }
    }

    private func refuse(_ context: ChannelHandlerContext, reason: String) {
        noteRefusal(reason)
        isClosing = true
        context.close(promise: nil)
    }

    /// Idempotent.
    private func leave() {
        deadline?.cancel()
        alarm?.cancel()
        service.bell.stop(self)
        session?.leave()
        session = nil
    }

    // MARK: Output

    /// Does what the session wants now.
    private func proceed(_ context: ChannelHandlerContext) {
        // Writing can change the writability, and may read, both of which call this again.
        guard let session, !isWriting, !isClosing else { return }
        for topic in session.takeNewTopics() { gate.serve(topic) }
        isWriting = true
        let isDrained = write(session, context)
        isWriting = false
        // Writing may have found the connection dead.
        guard self.session != nil else { return }
        setAlarm(session.nextWake, context)
        switch session.outlook {
        case .cut:
            isClosing = true
            context.triggerUserOutboundEvent(ConnectionReset(), promise: nil)
        case .finished where isDrained:
            if let failure = session.failure { noteRefusal("\(failure)") }
            if session.isOverLimit { noteRefusal(Self.overLimit) }
            close(context)
        case .open where isDrained && isInputClosed && !session.isHolding:
            close(context)
        case .open, .finished:
            break
        }
    }

    /// - Returns: all that the session had to say was written.
    private func write(_ session: APISession, _ context: ChannelHandlerContext) -> Bool {
        while context.channel.isWritable {
            session.takeOutput(into: &output)
            guard output.readableBytes > 0 else { return true }
            context.writeAndFlush(wrapOutboundOut(output), promise: nil)
            // Keeps its memory, unless the socket still holds it.
            output.clear()
        }
        return false
    }

    private func setAlarm(_ time: NIODeadline?, _ context: ChannelHandlerContext) {
        guard time != alarmTime else { return }
        alarm?.cancel()
        alarmTime = time
        alarm = time.map { time in
            context.eventLoop.assumeIsolated().scheduleTask(deadline: time) {
                self.alarmTime = nil
                self.session?.wake(now: self.time(context))
                self.proceed(context)
            }
        }
    }

    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        context.close(mode: .output, promise: nil)
    }

    private func noteRefusal(_ reason: String) {
        guard !isRefused else { return }
        isRefused = true
        service.countConnections { $0.refused += 1 }
        logger.info("connection refused", metadata: ["reason": "\(reason)"])
    }
}
