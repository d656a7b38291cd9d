import Logging
import NIOCore
import TLSTransport

/// The shell around a ``CourierSession``: waits for the handshake, takes the device from the certificate, hands the
/// session what is read and fetched, and does what it says.
///
/// A device that does not read is not read either: what it asks for would only pile up. After
/// ``SandboxLimits/courierStall`` its connection ends.
///
/// Belongs to the channel's event loop.
final class CourierHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: PushService
    private let logger: Logger
    private let desk: ServiceDesk
    private var session: CourierSession?
    private var isRefused = false
    /// Of the handshake, then of the first token.
    private var deadline: Scheduled<Void>?
    private var stallDeadline: Scheduled<Void>?
    /// Topics with notifications that the socket has not taken yet.
    private var fetching: [Int] = []
    private var isFetching = false

    init(service: PushService, logger: Logger) {
        self.service = service
        self.logger = logger
        desk = ServiceDesk(service)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        service.courier.countArrival()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.handshake) {
            self.giveUp(context, reason: "the handshake took too long")
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        leave()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let handshake = event as? TLSHandshakeCompleted {
            begin(context, handshake.peer?.device)
        } else if event as? ChannelEvent == .inputClosed {
            leave()
            context.close(mode: .output, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard session != nil else { return }
        let now = service.now
        let output = unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            session?.receive(bytes, desk: desk, now: now)
        }
        perform(output, context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        context.channel.setOption(.autoRead, value: isWritable).whenFailure { _ in
            // The channel has just been closed.
        }
        stallDeadline?.cancel()
        stallDeadline = nil
        if isWritable {
            fetch(context)
        } else {
            stallDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.courierStall) {
                self.perform(self.session?.stalled(), context)
                // Nothing that is said arrives, and the end of the stream neither.
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if session == nil {
            giveUp(context, reason: "\(error)")
        } else {
            logger.debug("courier connection failed", metadata: ["error": "\(error)"])
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func begin(_ context: ChannelHandlerContext, _ device: UInt32?) {
        deadline?.cancel()
        guard let device, device < service.devices else {
            let problem = device.map { "there is no device \($0)" } ?? "the certificate is not a device's"
            let refusal = CourierMessage.refused(CourierRefusal(code: .unknownDevice, text: problem))
            write([refusal], context)
            giveUp(context, reason: problem, mode: .output)
            return
        }
        let eventLoop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        let connection = service.courier.connect(device) { call in
            eventLoop.execute { bound.value.handler.called(call, bound.value.context) }
        }
        session = CourierSession(device: device, connection: connection)
        deadline = eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.presentation) {
            self.perform(self.session?.presentationIsDue(), context)
        }
    }

    private func called(_ call: CourierDirectory.Call, _ context: ChannelHandlerContext) {
        switch call {
        case .replaced:
            perform(session?.replaced(), context)
        case .fetch(let topic):
            if !fetching.contains(topic) { fetching.append(topic) }
            fetch(context)
        }
    }

    private func fetch(_ context: ChannelHandlerContext) {
        // Writing can change the writability, which calls this again.
        guard !isFetching else { return }
        isFetching = true
        defer { isFetching = false }
        while let topic = fetching.first, context.channel.isWritable {
            guard let output = session?.collect(topic: topic, desk: desk), !output.messages.isEmpty else {
                fetching.removeFirst()
                continue
            }
            perform(output, context)
        }
    }

    private func perform(_ output: CourierSession.Output?, _ context: ChannelHandlerContext) {
        guard let output else { return }
        write(output.messages, context)
        guard output.isLast else { return }
        if case .refused(let refusal)? = output.messages.last {
            refuse(reason: refusal.text)
        }
        leave()
        context.close(mode: .output, promise: nil)
    }

    private func write(_ messages: [CourierMessage], _ context: ChannelHandlerContext) {
        guard !messages.isEmpty else { return }
        var buffer = context.channel.allocator.buffer(capacity: 0)
        for message in messages {
            if let frame = message.encoded {
                buffer.writeBytes(frame)
            } else {
                logger.warning("a payload is too long for a courier frame")
            }
        }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    /// Before there is a session.
    private func giveUp(_ context: ChannelHandlerContext, reason: String, mode: CloseMode = .all) {
        refuse(reason: reason)
        context.close(mode: mode, promise: nil)
    }

    private func refuse(reason: String) {
        guard !isRefused else { return }
        isRefused = true
        service.courier.countRefusal()
        logger.info("device refused", metadata: ["reason": "\(reason)"])
    }

    /// Idempotent.
    private func leave() {
        deadline?.cancel()
        stallDeadline?.cancel()
        guard let session else { return }
        self.session?.ended(desk: desk, now: service.now)
        service.courier.disconnect(session.device, connection: session.connection)
    }
}
