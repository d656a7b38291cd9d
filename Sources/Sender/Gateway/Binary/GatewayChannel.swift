import NIOCore
import TLSTransport

/// An open connection of a lane as a channel, with the position of its acknowledged bytes.
final class GatewayChannel: GatewayConnection {
    private let channel: any Channel
    private let tls: TLSHandler
    /// Nil if acknowledgements are not known.
    private let acknowledgedBytes: AcknowledgedBytes?

    /// - Parameter channel: on this event loop, with finished TLS handshake.
    init(_ channel: any Channel) throws {
        self.channel = channel
        tls = try channel.pipeline.syncOperations.handler(type: TLSHandler.self)
        acknowledgedBytes = AcknowledgedBytes(channel)
    }

    var isWritable: Bool { channel.isWritable }

    var tellsAcknowledgements: Bool { acknowledgedBytes != nil }

    var writtenBytes: UInt64 { tls.ciphertextBytes }

    var acknowledged: UInt64? { acknowledgedBytes?.streamBytes }

    func write(_ bytes: ByteBuffer) {
        channel.write(bytes, promise: nil)
    }

    func writeAndFlush(_ bytes: ByteBuffer, whenFlushed: (() -> Void)?) {
        guard let whenFlushed else { return channel.writeAndFlush(bytes, promise: nil) }
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess(whenFlushed)
        channel.writeAndFlush(bytes, promise: promise)
    }

    func rest() { tls.rest() }

    func close() {
        channel.close(mode: .all, promise: nil)
    }

    func abort() {
        AbortedChannel.abort(channel)
    }
}
