import NIOCore

/// The sent commands without reply. A refused one can be sent to another node. The sent buffers are shared: a command
/// costs an addition, no copy.
struct SentBytes {
    /// Begins with the oldest command without reply, once `consumedBytes` are passed over.
    private var first = ByteBuffer()
    private var firstBytes = 0
    private var consumedBytes = 0
    private var others = CircularBuffer<ByteBuffer>()

    /// Adds whole commands behind those that were sent before.
    mutating func append(_ buffer: ByteBuffer) {
        if consumedBytes == firstBytes {
            begin(buffer)
        } else {
            others.append(buffer)
        }
    }

    /// Passes over the oldest command, of `byteCount` bytes, after its reply.
    @inline(__always)
    mutating func removeFirst(byteCount: Int) {
        consumedBytes += byteCount
        if consumedBytes == firstBytes { begin(others.popFirst() ?? ByteBuffer()) }
    }

    /// The oldest command, of `byteCount` bytes. It shares the buffer.
    func firstCommand(byteCount: Int) -> ByteBuffer {
        guard let command = first.getSlice(at: first.readerIndex + consumedBytes, length: byteCount) else {
            preconditionFailure("a reply without a command")
        }
        return command
    }

    /// Forgets all commands: the connection is lost, and with it those in flight.
    mutating func removeAll() {
        others.removeAll()
        begin(ByteBuffer())
    }

    private mutating func begin(_ buffer: ByteBuffer) {
        first = buffer
        firstBytes = buffer.readableBytes
        consumedBytes = 0
    }
}
