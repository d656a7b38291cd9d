import NIOCore

/// One page that follows `GET /events`. Belongs to its connection's event loop.
package final class EventPage {
    private let channel: any Channel
    private let source: AsyncStream<ByteBuffer>.Continuation
    /// The frames to send.
    let frames: AsyncStream<ByteBuffer>
    package var subscriber = EventSubscriber()

    init(on channel: any Channel) {
        self.channel = channel
        (frames, source) = AsyncStream<ByteBuffer>.makeStream()
    }

    package func write(_ frames: [[UInt8]]) { source.yield(ByteBuffer(bytes: Array(frames.joined()))) }

    package func close() { channel.close(promise: nil) }

    /// The connection's buffer is below its mark.
    package var isWritable: Bool { channel.isWritable }

    /// The connection has ended.
    func end() { source.finish() }
}
