import NIOCore
import TLSTransport

/// An open connection of a lane: the channel, and what it takes to know how far its bytes have come.
struct GatewayConnection {
    let channel: any Channel
    private let tls: TLSHandler
    /// Nil where acknowledgements are not told.
    private let acknowledgedBytes: AcknowledgedBytes?

    /// - Parameter channel: of this event loop, its TLS handshake done.
    init(_ channel: any Channel) throws {
        self.channel = channel
        tls = try channel.pipeline.syncOperations.handler(type: TLSHandler.self)
        acknowledgedBytes = AcknowledgedBytes(channel)
    }

    /// Whether ``acknowledged`` will ever say something.
    var tellsAcknowledgements: Bool { acknowledgedBytes != nil }

    /// Bytes of the stream, encrypted and with the handshake, up to what was flushed last.
    var writtenBytes: UInt64 { tls.ciphertextBytes }

    /// Bytes of the stream that the peer's kernel has; nil if it cannot be told (any more).
    var acknowledged: UInt64? { acknowledgedBytes?.streamBytes }
}
