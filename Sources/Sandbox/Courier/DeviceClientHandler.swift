import Glibc
import NIOCore
import TLSTransport

/// The shell around a ``DeviceClientSession`` for one connection.
///
/// Belongs to the channel's event loop.
final class DeviceClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The end of the connection.
    struct Ending: Sendable {
        /// Goes on with the next connection.
        let session: DeviceClientSession
        /// `nil` when the connection was only lost.
        let end: DeviceClientSession.End?
        /// The reason of its loss.
        let reason: String
    }

    private var session: DeviceClientSession
    private var decoder = CourierFrameDecoder()
    private let report: @Sendable (DeviceReport) -> Void
    private let ended: EventLoopPromise<Ending>
    private var end: DeviceClientSession.End?
    private var reason = "the service closed the connection"

    /// - Parameter ended: fulfilled when the connection is closed.
    init(
        session: DeviceClientSession,
        report: @escaping @Sendable (DeviceReport) -> Void,
        ended: EventLoopPromise<Ending>
    ) {
        self.session = session
        self.report = report
        self.ended = ended
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted { perform(session.connected(), context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { decoder.append($0) }
        do throws(CourierMalformation) {
            while end == nil, let frame = try decoder.next() {
                perform(session.receive(try CourierMessage(frame), nowMilliseconds: Self.nowMilliseconds), context)
            }
        } catch {
            end = .refused("the service is not a courier: \(error)")
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = "\(error)"
        if let error = error as? TLSError, error.isCertificateRefused { end = end ?? .refused("\(error)") }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended.succeed(Ending(session: session, end: end, reason: reason))
        context.fireChannelInactive()
    }

    private func perform(_ output: DeviceClientSession.Output, _ context: ChannelHandlerContext) {
        output.reports.forEach(report)
        let bytes = output.requests.flatMap(\.encoded)
        if !bytes.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil) }
        if let end = output.end {
            self.end = end
            context.close(promise: nil)
        }
    }

    private static var nowMilliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
