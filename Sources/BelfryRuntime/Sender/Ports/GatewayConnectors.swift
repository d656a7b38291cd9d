import NIOCore
import PipelineCore

/// The source of a shard's connections to the gateways, and what it knows of certificates.
protocol GatewayConnectors: AnyObject {
    /// Whether a bundle has a certificate in an environment now.
    func hasCertificate(environment: String, bundleID: String) -> Bool
    /// Whether records of a bundle without a certificate become dead letters: it has been without one for the time allowed.
    func isGivenUp(environment: String, bundleID: String) -> Bool
    /// Lets time pass; called about every second.
    func tick(now: MonotonicTime)
    /// A connector for one lane of a bundle. Without a certificate every attempt fails.
    ///
    /// - Parameter lane: number of the lane among the bundle's; spreads them over the gateways.
    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting
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
    /// Closes it at once, whatever it still buffers, for a peer that does not answer.
    func abort()
}

extension GatewayConnection {
    func abort() { close() }
}
