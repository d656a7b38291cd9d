import NIOCore
import PipelineCore

/// Memory for the bytes that a lane hands to its connection, used again and again.
///
/// A connection that encrypts when it is flushed has let go of them by then. One that keeps a buffer for longer keeps
/// its memory, and the next bytes get other memory. The lanes of a shard share one, for one writes at a time. Bound to
/// the shard's event loop.
final class RunBuffers {
    /// TLS records written before the channel is asked again whether it takes more: 256 KiB.
    static let count = 16

    private var buffers = Array(repeating: ByteBuffer(), count: RunBuffers.count)

    /// A copy of bytes.
    ///
    /// - Parameters:
    ///   - run: most of ``FrameLog/chunkBytes``.
    ///   - place: its place among those written before the next flush; less than ``count``.
    func copy(_ run: UnsafeRawBufferPointer, at place: Int) -> ByteBuffer {
        buffers[place].clear(minimumCapacity: FrameLog.chunkBytes)
        buffers[place].writeBytes(run)
        return buffers[place]
    }
}
