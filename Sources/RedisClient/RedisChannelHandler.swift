import NIOCore
import NIOPosix

/// The Redis end of one channel: bytes to replies, and the channel's life to its ``RedisConnection``. Decides nothing.
///
/// One per channel; it and the connection hold each other until the channel is inactive.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var connection: RedisConnection?
    private var context: ChannelHandlerContext?
    private let parser: ReplyParser
    /// The first error the channel told of: what ended it. Later ones follow from it.
    private var failure: (any Error)?

    init(connection: RedisConnection) {
        self.connection = connection
        parser = ReplyParser(limitBytes: connection.configuration.replyLimitBytes)
    }

    /// Whether the channel takes more; false beyond its high-water mark.
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
        // What the completions have sent, and what waited for room in flight.
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
        connection?.lost(self, reason: failure.map(describe) ?? "the server closed the connection")
        context.fireChannelInactive()
    }
}

/// An error of the transport in a few words; NIO's own description of a failed connect is a dump of its fields.
func describe(_ error: any Error) -> String {
    guard let error = error as? NIOConnectionError else { return "\(error)" }
    if let first = error.connectionErrors.first { return "cannot connect: \(first.error)" }
    let resolution = error.dnsAError ?? error.dnsAAAAError
    return "cannot resolve \"\(error.host)\"" + (resolution.map { ": \($0)" } ?? "")
}
