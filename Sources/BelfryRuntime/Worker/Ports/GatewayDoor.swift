import NIOCore

/// Where a shard's connections to the gateways come from.
protocol GatewayDoor: AnyObject {
    /// A connector for one lane of a bundle; nil if there is no certificate for it in that environment.
    ///
    /// - Parameter lane: number of the lane among the bundle's; spreads them over the gateways.
    func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)?
}

/// Opens connections for a lane, one attempt at a time. Lives on the lane's event loop.
protocol GatewayConnecting: AnyObject {
    var eventLoop: any EventLoop { get }
    /// Begins an attempt; the lane hears of it, unless it no longer wants it by then.
    func connect(_ lane: GatewayLane, attempt: Int)
    /// Where an attempt went, for the log.
    func placeName(of attempt: Int) -> String
    /// An attempt, or a connection, failed.
    func noteFailure()
}

/// An open connection of a lane: a stream of bytes of which it can be told how far they have come.
protocol GatewayConnection: AnyObject {
    /// False while as much is buffered as should be; the lane is told when that changes.
    var isWritable: Bool { get }
    /// Whether ``acknowledged`` will ever say something.
    var tellsAcknowledgements: Bool { get }
    /// Bytes of the stream, encrypted and with the handshake, up to what was flushed last.
    var writtenBytes: UInt64 { get }
    /// Bytes of the stream that the peer's kernel has; nil if it cannot be told (any more).
    var acknowledged: UInt64? { get }
    /// Takes bytes that leave with the next ``writeAndFlush(_:whenFlushed:)``.
    func write(_ bytes: ByteBuffer)
    /// - Parameter whenFlushed: called when our kernel has them all; not if the connection ends first.
    func writeAndFlush(_ bytes: ByteBuffer, whenFlushed: (() -> Void)?)
    /// Closes it in order. What it still reports concerns nobody.
    func close()
}
