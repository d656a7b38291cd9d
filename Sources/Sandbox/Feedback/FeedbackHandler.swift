import APNsProtocol
import Logging
import NIOCore
import TLSTransport

/// One connection to the feedback service: writes the topic's list at once and closes; the client sends nothing [10].
///
/// The list is cleared by the connect [13]: a reader that goes away in the middle has lost the rest. It is written as
/// fast as the socket takes it. A fault can cut it in the middle of a tuple. The number of tuples that have arrived in
/// the reader's kernel is counted, to tell what a reader lost.
///
/// Belongs to the channel's event loop.
final class FeedbackHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: PushService
    private let topic: PushService.Topic
    private let mint: TokenMint
    private let logger: Logger
    private var entries: ArraySlice<FeedbackList.Entry> = []
    /// Bytes that may still be written before a fault cuts the stream.
    private var bytesLeft = Int.max
    private var isWriting = false
    private var tls: TLSHandler?
    private var socket: TCPProgress?
    private var progress = FeedbackProgress(start: 0)
    /// Of this connection, counted in the ledger.
    private var countedTuples = 0

    init(service: PushService, topic: PushService.Topic, logger: Logger) {
        self.service = service
        self.topic = topic
        self.logger = logger
        mint = service.mint(for: topic)
    }

    private var tupleBytes: Int { FeedbackTuple.headerBytes + mint.mintedBytes }

    func handlerAdded(context: ChannelHandlerContext) {
        (entries, bytesLeft) = topic.withLedger { ledger in
            let taken = ledger.takeFeedback()
            let cut = ledger.faults.takeFeedbackCut(of: taken.count * tupleBytes)
            return (taken[...], cut ?? .max)
        }
        logger.debug("feedback read", metadata: ["topic": "\(topic.name)", "tuples": "\(entries.count)"])
        tls = try? context.pipeline.syncOperations.handler(type: TLSHandler.self)
        socket = TCPProgress(context.channel)
        progress = FeedbackProgress(start: tls?.ciphertextBytes ?? 0)
        write(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        countArrived()
        socket?.close()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        socket?.close()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        countArrived()
        write(context)
        context.fireChannelWritabilityChanged()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes from a client mean nothing to this service.
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("feedback connection failed", metadata: ["topic": "\(topic.name)", "error": "\(error)"])
        context.close(promise: nil)
    }

    private func write(_ context: ChannelHandlerContext) {
        // Flushing can change the writability, which calls this again.
        guard !isWriting else { return }
        isWriting = true
        defer { isWriting = false }
        while !entries.isEmpty, context.channel.isWritable {
            let chunk = entries.prefix(SandboxLimits.feedbackTuplesPerWrite)
            entries = entries.dropFirst(chunk.count)
            var buffer = encode(chunk, context.channel.allocator)
            var tuples = chunk.count
            if buffer.readableBytes >= bytesLeft {
                tuples = bytesLeft / tupleBytes
                buffer.moveWriterIndex(to: buffer.readerIndex + bytesLeft)
                entries = []
            }
            bytesLeft -= buffer.readableBytes
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
            if let position = tls?.ciphertextBytes { progress.wrote(tuples: tuples, upTo: position) }
        }
        if entries.isEmpty { context.close(mode: .output, promise: nil) }
    }

    private func countArrived() {
        guard let bytes = socket?.acknowledgedBytes else { return }
        let tuples = progress.tuples(arrivedBytes: bytes)
        let news = tuples - countedTuples
        guard news > 0 else { return }
        countedTuples = tuples
        topic.withLedger { $0.countFeedback(arrived: news) }
    }

    private func encode(_ chunk: ArraySlice<FeedbackList.Entry>, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        let longestToken = TokenMint.tokenLengths.upperBound
        var buffer = allocator.buffer(capacity: chunk.count * tupleBytes)
        withUnsafeTemporaryAllocation(byteCount: longestToken, alignment: 8) { space in
            for entry in chunk {
                let token = UnsafeRawBufferPointer(rebasing: space[..<mint.mint(entry.instance, into: space)])
                buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FeedbackTuple.headerBytes + token.count) {
                    FeedbackTuple.encode(timestamp: entry.timestamp, token: token, into: $0)
                }
            }
        }
        return buffer
    }
}
