import Glibc
import NIOCore

/// Stands between TLS and the socket of a gateway connection: what was composed before the shard stood still does not
/// leave after it, because others may have sent it meanwhile.
///
/// A process can be stopped at any instruction, so the question is asked once more directly before the write. Of what
/// is written at once, be it requests or a frame of HTTP/2, nothing can be taken back, and the connection ends. Bytes
/// that the socket did not take before, because the gateway does not read, leave all the same. Belongs to the channel's
/// event loop.
final class StandstillGate: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let owner: any ConnectionOwner
    private let attempt: Int
    private var isShut = false

    init(of owner: any ConnectionOwner, attempt: Int) {
        self.owner = owner
        self.attempt = attempt
    }

    func flush(context: ChannelHandlerContext) {
        guard !isShut else { return }
        // A handshake carries nothing of the shard's, nor does the end of a connection that its owner has let go.
        guard owner.isOpen(attempt), owner.hasStoodStill else { return context.flush() }
        isShut = true
        AbortedChannel.abort(context.channel, because: ShardStoodStill())
    }
}

/// A connection's bytes were not written, because the shard stood still before.
struct ShardStoodStill: Error, CustomStringConvertible {
    var description: String { "the worker stood still before it wrote: others may send what it had begun" }
}
