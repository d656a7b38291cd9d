import NIOCore
import PipelineCore
import SocketErrors

/// Asks a proxy for a tunnel, over a connection that stands: carries out ``ProxyTunnelStateMachine``.
///
/// It leaves the pipeline in the turn of the event loop in which it calls back, so that no byte is missed between the
/// proxy's answer and the beginning of TLS. Used once, on the channel's event loop.
final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: String
    private let timeout: TimeAmount
    private var machine = ProxyTunnelStateMachine()
    private var timer: Scheduled<Void>?
    /// Nil once it was called.
    private var completion: ((Result<Int, ProxyFailure.Cause>) -> Void)?

    /// - Parameters:
    ///   - target: the peer, whose name the proxy resolves.
    ///   - timeout: for the answer.
    ///   - completion: takes the number of bytes that were sent to the proxy. After a failure the channel is to be
    ///     closed by it.
    init(
        to target: HostPort,
        through proxy: ProxySettings,
        timeout: TimeAmount,
        _ completion: @escaping (Result<Int, ProxyFailure.Cause>) -> Void
    ) {
        request = ProxyTunnelStateMachine.request(to: target.description, authorization: proxy.authorization)
        self.timeout = timeout
        self.completion = completion
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            carryOut(machine.timedOut(), context)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        carryOut(machine.received(unwrapInboundIn(data).readableBytesView), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { carryOut(machine.ended(), context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(.unreachable(connectionProblem(error))))
    }

    func channelInactive(context: ChannelHandlerContext) {
        carryOut(machine.ended(), context)
        context.fireChannelInactive()
    }

    private func carryOut(_ action: ProxyTunnelStateMachine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .wait: break
        case .fail(let failure): finish(.failure(.noTunnel(failure)))
        case .open:
            // In a later turn: further bytes of the proxy that were read meanwhile are a fault.
            context.eventLoop.assumeIsolated().execute { [self] in
                guard completion != nil else { return }
                context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
                finish(.success(request.utf8.count))
            }
        }
    }

    private func finish(_ result: Result<Int, ProxyFailure.Cause>) {
        timer?.cancel()
        timer = nil
        guard let completion else { return }
        self.completion = nil
        completion(result)
    }
}
