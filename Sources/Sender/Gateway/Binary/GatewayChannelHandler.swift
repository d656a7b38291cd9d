import APNsProtocol
import NIOCore
import TLSTransport

/// The end of a gateway connection's pipeline: turns the channel's events into events of its lane.
final class GatewayChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let lane: GatewayLane
    private let attempt: Int
    private var decoder = ErrorResponseDecoder()
    private var error: (any Error)?

    init(lane: GatewayLane, attempt: Int) {
        self.lane = lane
        self.attempt = attempt
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted {
            open(context)
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            end(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func open(_ context: ChannelHandlerContext) {
        do {
            lane.connectionOpened(attempt: attempt, connection: try GatewayChannel(context.channel))
        } catch {
            errorCaught(context: context, error: error)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        switch buffer.withUnsafeReadableBytes({ decoder.decode($0) }) {
        case .needMore, .ignored:
            break
        case .response(let response):
            lane.connectionAnswered(attempt: attempt, response: response)
        case .malformed(let byte):
            error = GatewayProtocolError(firstByte: byte)
            end(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error is the cause; those that follow are its consequences.
        if self.error == nil { self.error = error }
        end(context)
    }

    private func end(_ context: ChannelHandlerContext) {
        lane.connectionEnding(attempt: attempt, error: error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        lane.connectionEnded(attempt: attempt, error: error)
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { lane.connectionWritable(attempt: attempt) }
        context.fireChannelWritabilityChanged()
    }
}

/// The gateway sent something that is not an error response.
struct GatewayProtocolError: Error, CustomStringConvertible {
    let firstByte: UInt8

    var description: String { "the gateway sent byte \(firstByte) where only an error response (8) may begin" }
}
