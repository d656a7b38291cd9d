import NIOCore
import NIOEmbedded

@testable import TLSTransport

/// A client and a server without sockets: every buffer that one side hands to its socket is seen by the test.
final class EmbeddedPair {
    let client = EmbeddedChannel()
    let server = EmbeddedChannel()
    let clientRecorder: Recorder
    let serverRecorder: Recorder

    init(
        client clientContext: TLSContext,
        server serverContext: TLSContext,
        clientScript: Recorder.Script = .init(),
        serverScript: Recorder.Script = .init(),
        serverName: String = "localhost"
    ) throws {
        clientRecorder = Recorder(clientScript)
        serverRecorder = Recorder(serverScript)
        try client.pipeline.syncOperations.addHandlers(
            TLSHandler(context: clientContext, serverName: serverName),
            clientRecorder
        )
        try server.pipeline.syncOperations.addHandlers(
            TLSHandler(context: serverContext, serverName: nil),
            serverRecorder
        )
    }

    func connect() throws {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        client.connect(to: address, promise: nil)
        server.connect(to: address, promise: nil)
    }

    /// Carries bytes both ways until both are silent, at most `chunkBytes` at once.
    func pump(chunkBytes: Int = .max) throws {
        var moved = true
        while moved {
            moved = try Self.carry(from: client, to: server, chunkBytes)
            moved = try Self.carry(from: server, to: client, chunkBytes) || moved
        }
    }

    private static func carry(from: EmbeddedChannel, to: EmbeddedChannel, _ chunkBytes: Int) throws -> Bool {
        var moved = false
        while var buffer = try from.readOutbound(as: ByteBuffer.self) {
            moved = true
            while let chunk = buffer.readSlice(length: min(chunkBytes, buffer.readableBytes)), chunk.readableBytes > 0 {
                // A closed channel is a peer that is gone.
                guard to.isActive else { break }
                try to.writeInbound(chunk)
            }
        }
        return moved
    }

    /// All that a side has handed to its socket, one element per write.
    static func writes(of channel: EmbeddedChannel) throws -> [ByteBuffer] {
        var writes: [ByteBuffer] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { writes.append(buffer) }
        return writes
    }

    /// The body lengths of the records in a stream (RFC 8446 §5.1: type 1, version 2, length 2).
    static func recordLengths(in stream: ByteBuffer) -> [Int] {
        var stream = stream
        var lengths: [Int] = []
        while let header = stream.readBytes(length: 5) {
            let length = Int(header[3]) << 8 | Int(header[4])
            lengths.append(length)
            stream.moveReaderIndex(forwardBy: length)
        }
        return lengths
    }
}
