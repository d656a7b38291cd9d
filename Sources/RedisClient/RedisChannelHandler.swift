import NIOCore
import SocketErrors

/// The Redis end of one channel: turns bytes into replies, and tells its ``RedisConnection`` of the channel's life.
/// Decides nothing.
///
/// One per channel; handler and connection hold each other until the channel is inactive.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var connection: RedisConnection?
    private var context: ChannelHandlerContext?
    private let parser: ReplyParser
    /// The first error of the channel, which ended it. Later ones follow from it.
    private var failure: (any Error)?

    init(connection: RedisConnection) {
        self.connection = connection
        parser = ReplyParser(limitBytes: connection.configuration.replyLimitBytes)
    }

    /// The channel takes more bytes; false beyond its high-water mark.
    var isWritable: Bool { context?.channel.isWritable ?? false }

    func send(_ bytes: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func close() {
        context?.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        connection = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        connection?.activated(self)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let connection else { return }
        let buffer = unwrapInboundIn(data)
        buffer.withUnsafeReadableBytes { bytes in
            do throws(ReplyParser.Failure) {
                try parser.feed(bytes) { connection.received($0, on: self) }
            } catch {
                connection.lost(self, reason: "\(error)")
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Sends the commands of the completions, and those that waited for room in flight.
        connection?.flush()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection?.flush() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection?.lost(self, reason: failure.map(connectionProblem) ?? "the server closed the connection")
        context.fireChannelInactive()
    }
}
