import NIOCore

/// Opens connections for a lane, one attempt at a time. Bound to the lane's event loop.
protocol GatewayConnecting: AnyObject {
    var eventLoop: any EventLoop { get }
    /// Rises whenever new connections are opened with another credential than those before, or trust other
    /// authorities. Cheap to ask in every tick.
    var edition: UInt64 { get }
    /// Begins an attempt; the lane is told of the result, unless it no longer wants it.
    func connect(_ lane: GatewayLane, attempt: Int)
    /// The address of an attempt, for the log.
    func placeName(of attempt: Int) -> String
    /// An attempt, or a connection, failed.
    func noteFailure()
}

/// An open connection of a lane: a stream of bytes with known progress.
protocol GatewayConnection: AnyObject {
    /// The connection takes more bytes; false when its buffer is full. The lane is told of changes.
    var isWritable: Bool { get }
    /// The connection can report ``acknowledged`` bytes.
    var tellsAcknowledgements: Bool { get }
    /// Bytes of the stream up to the last flush, encrypted and with the handshake.
    var writtenBytes: UInt64 { get }
    /// Bytes of the stream that the peer's kernel has acknowledged; nil if that is not known (any more).
    var acknowledged: UInt64? { get }
    /// Takes bytes that leave with the next ``writeAndFlush(_:whenFlushed:)``.
    func write(_ bytes: ByteBuffer)
    /// - Parameter whenFlushed: called when our kernel has all the bytes; not if the connection ends first.
    func writeAndFlush(_ bytes: ByteBuffer, whenFlushed: (() -> Void)?)
    /// Nothing passes for now: frees the memory that is only needed while something does.
    func rest()
    /// Closes the connection in order. Its later events are ignored.
    func close()
    /// Closes the connection at once, whatever it still buffers, for a peer that does not answer.
    func abort()
}

extension GatewayConnection {
    func abort() { close() }

    func rest() {}
}
