import APNsProtocol
import NIOCore
import NIOPosix
import TLSTransport

@testable import PipelineTestSupport

/// A gateway that does what the test tells it to; it reads nothing of what follows the handshake before it is told to.
/// The test closes it.
final class ScriptedGateway: Sendable {
    /// The gateway's end of one connection, its handshake done.
    final class Peer: Sendable {
        private let channel: any Channel

        init(_ channel: any Channel) { self.channel = channel }

        /// Says bytes; they lie at the other end when this returns, for this is loopback.
        func answer(_ status: APNsStatus, _ identifier: UInt32) async throws {
            let shifts: [UInt32] = [24, 16, 8, 0]
            let bytes = [8, status.rawValue] + shifts.map { UInt8(truncatingIfNeeded: identifier >> $0) }
            try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
        }

        /// Reads all that comes from now on.
        func read() async throws {
            try await channel.setOption(.autoRead, value: true).get()
        }

        /// Closes the socket with what is unread in it, which makes the kernel send a reset.
        func reset() async throws {
            try await channel.eventLoop.submit { [channel] in
                let operations = channel.pipeline.syncOperations
                try operations.context(handlerType: TLSHandler.self).close(promise: nil)
            }.get()
        }

        /// Says close_notify, but keeps the stream open until ``endStream()``, also when the other end closes its own.
        func sayGoodbye() async throws {
            // Without it a channel closes as soon as the kernel tells of the other end's, be it read or not.
            try await channel.setOption(.allowRemoteHalfClosure, value: true).get()
            try await channel.eventLoop.submit { [channel] in
                try channel.pipeline.syncOperations.handler(type: StreamEnd.self).isWithheld = true
            }.get()
            try await channel.close(mode: .output).get()
        }

        /// Ends a stream that stayed open behind a goodbye.
        func endStream() async throws {
            try await channel.eventLoop.submit { [channel] in
                try channel.pipeline.syncOperations.context(handlerType: StreamEnd.self).close(promise: nil)
            }.get()
        }

        /// Ends the stream in order.
        func close() async throws {
            try await channel.close().get()
        }

        /// Returns when these notifications, and sentinels, have been read.
        func until(identifiers expected: [UInt32]) async throws {
            while try await identifiers() != expected {
                try Task.checkCancellation()
                try await channel.eventLoop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
            }
        }

        /// The notifications read so far, by their identifiers.
        func identifiers() async throws -> [UInt32] {
            try await channel.eventLoop.submit { [channel] in
                try channel.pipeline.syncOperations.handler(type: Reader.self).identifiers
            }.get()
        }
    }

    private let peers: AsyncStream<Peer>
    private let listener: any Channel

    /// - Parameter address: on which loopback address it listens.
    init(_ pki: FeedbackService.PKI, address: String = "127.0.0.1", port: Int = 0) async throws {
        let (peers, continuation) = AsyncStream<Peer>.makeStream()
        let context = try TLSContext(
            server: pki.server,
            clientTrust: .pem(pki.authority.rootPEM()),
            requireClientCertificate: true
        )
        self.peers = peers
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Small, so that little is acknowledged of what is not read.
            .serverChannelOption(.socketOption(.so_rcvbuf), value: 16 * 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        StreamEnd(), TLSHandler(context: context, serverName: nil),
                        Reader { continuation.yield(Peer($0)) },
                    ])
                }
            }
            .bind(host: address, port: port).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    /// The next connection.
    func peer() async throws -> Peer {
        for await peer in peers { return peer }
        throw ChannelError.eof
    }

    func close() async throws { try await listener.close() }

    /// Withholds the end of the stream behind close_notify, if it is told to.
    private final class StreamEnd: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isWithheld = false

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard isWithheld else { return context.close(mode: mode, promise: promise) }
            promise?.succeed()
        }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var identifiers: [UInt32] = []
        private var bytes: [UInt8] = []
        private let opened: (any Channel) -> Void

        init(opened: @escaping (any Channel) -> Void) { self.opened = opened }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard event is TLSHandshakeCompleted else { return context.fireUserInboundEventTriggered(event) }
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
            opened(context.channel)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += unwrapInboundIn(data).readableBytesView
            var start = 0
            func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
            // Command 2, its identifier first: what the lanes send.
            while bytes.count - start >= 5, bytes.count - start >= 5 + number(start + 1) {
                identifiers.append(UInt32(number(start + NotificationFrame.command2IdentifierOffset)))
                start += 5 + number(start + 1)
            }
            bytes.removeFirst(start)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
