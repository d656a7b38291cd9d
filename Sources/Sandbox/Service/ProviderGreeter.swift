import Logging
import NIOCore
import TLSTransport

/// Stands at the door of gateway and feedback service: waits for the handshake, takes the topic from the certificate
/// [10], and puts the handler that serves this topic in its own place. A peer that cannot be served is closed on and
/// counted as refused.
///
/// Belongs to the channel's event loop.
final class ProviderGreeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let service: PushService
    private let kind: ProviderDoor.Kind
    private let logger: Logger
    private let makeServant: (PushService.Topic) -> any ChannelHandler
    private var isGreeted = false
    private var isRefused = false
    private var deadline: Scheduled<Void>?

    /// - Parameter makeServant: makes the handler of a connection whose topic is known.
    init(
        service: PushService,
        kind: ProviderDoor.Kind,
        logger: Logger,
        makeServant: @escaping (PushService.Topic) -> any ChannelHandler
    ) {
        self.service = service
        self.kind = kind
        self.logger = logger
        self.makeServant = makeServant
    }

    func handlerAdded(context: ChannelHandlerContext) {
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
        deadline?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let handshake = event as? TLSHandshakeCompleted else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        deadline?.cancel()
        guard let name = handshake.peer?.topic, let topic = service.topic(named: name) else {
            refuse(context, reason: "the certificate is for a topic that is not served")
            return
        }
        guard handshake.peer?.environments.contains(service.environment.ofCertificates) == true else {
            refuse(context, reason: "the certificate is for the other environment")
            return
        }
        guard admit(context, to: topic) else {
            refuse(context, reason: "a fault: the topic has enough connections")
            return
        }
        isGreeted = true
        service.count(context.channel, of: handshake.peer)
        do {
            // The servant is added first, so that it sees the bytes that come with the removal.
            try context.pipeline.syncOperations.addHandler(makeServant(topic), position: .after(self))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            // The channel was closed by a handler in front of this one.
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes of a peer that is being refused.
        guard isGreeted else { return }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isGreeted {
            context.fireErrorCaught(error)
        } else {
            refuse(context, reason: "\(error)")
        }
    }

    private func admit(_ context: ChannelHandlerContext, to topic: PushService.Topic) -> Bool {
        guard kind == .gateway else { return true }
        guard topic.withLedger({ $0.faults.admitConnection() }) else { return false }
        context.channel.closeFuture.whenComplete { _ in topic.withLedger { $0.faults.releaseConnection() } }
        return true
    }

    private func refuse(_ context: ChannelHandlerContext, reason: String) {
        guard !isRefused else { return }
        isRefused = true
        service.countConnections { $0.refused += 1 }
        logger.info("connection refused", metadata: ["reason": "\(reason)"])
        context.close(promise: nil)
    }
}

extension ProviderGreeter: RemovableChannelHandler {}
