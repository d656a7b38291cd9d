import BelfrySupport
import NIOCore
import PipelineCore

/// The source of a shard's connections to the gateways, and of its knowledge of certificates.
protocol GatewayConnectors: AnyObject {
    /// The bundle has a certificate in the environment now.
    func hasCertificate(environment: String, bundleID: String) -> Bool
    /// Records of the bundle become dead letters: it has been without a certificate for the allowed time.
    func isGivenUp(environment: String, bundleID: String) -> Bool
    /// Lets time pass; called about every second.
    func tick(now: MonotonicTime)
    /// A connector for one lane of a bundle. Without a certificate every attempt fails.
    ///
    /// - Parameter lane: number of the lane among the bundle's; spreads them over the gateways.
    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting

    // MARK: HTTP/2

    /// The credential with which connections for the bundle are opened now; nil: there is none.
    func credential(environment: String, bundleID: String) -> TopicCredential?
    /// A connector for the connections with one credential.
    ///
    /// - Parameter turn: spreads parties over the gateways.
    func streamConnector(environment: String, credential: TopicCredential, turn: Int) -> any StreamConnecting
    /// The tokens of credentials that are keys; nil: no credential is one.
    var providerTokens: ProviderTokens? { get }
}

/// Opens connections for a lane, one attempt at a time. Bound to the lane's event loop.
protocol GatewayConnecting: AnyObject {
    var eventLoop: any EventLoop { get }
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
    /// Closes the connection in order. Its later events are ignored.
    func close()
    /// Closes the connection at once, whatever it still buffers, for a peer that does not answer.
    func abort()
}

extension GatewayConnection {
    func abort() { close() }
}

/// A source of binary connections only.
extension GatewayConnectors {
    func credential(environment: String, bundleID: String) -> TopicCredential? {
        hasCertificate(environment: environment, bundleID: bundleID) ? .certificate(bundleID: bundleID) : nil
    }

    func streamConnector(environment: String, credential: TopicCredential, turn: Int) -> any StreamConnecting {
        preconditionFailure("this source opens no HTTP/2 connections")
    }

    var providerTokens: ProviderTokens? { nil }
}
