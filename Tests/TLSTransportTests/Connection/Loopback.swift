import Glibc
import NIOCore
import NIOPosix

@testable import TLSTransport

/// A client and a server on 127.0.0.1, each with a script; waits until both connections are gone.
struct Loopback: Sendable {
    var client: TLSContext
    var server: TLSContext
    var serverName = "localhost"
    var clientScript = Recorder.Script()
    var serverScript = Recorder.Script()
    /// An end of stream leaves the other direction open.
    var halfClosure = false
    var autoRead = true
    /// Longest wait of an end for the other side. Tests in which the other side never ends set it short.
    var closeTimeout = TimeAmount.seconds(30)

    static let group = MultiThreadedEventLoopGroup.singleton

    func run() async throws -> (client: [Seen], server: [Seen]) {
        let ended = Self.group.any().makePromise(of: [Seen].self)
        let listener = try await listen(ended: ended)
        do {
            let client = try await connect(port: listener.localAddress?.port ?? 0)
            let server = try await ended.futureResult.get()
            try await listener.close()
            return (client, server)
        } catch {
            ended.fail(error)
            try? await listener.close()
            throw error
        }
    }

    /// A server for one connection, whose record `ended` gets.
    func listen(ended: EventLoopPromise<[Seen]>) async throws -> any Channel {
        try await ServerBootstrap(group: Self.group)
            .childChannelOption(.allowRemoteHalfClosure, value: halfClosure)
            .childChannelOption(.autoRead, value: autoRead)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        TLSHandler(context: server, serverName: nil, closeTimeout: closeTimeout),
                        Recorder(serverScript, ended: ended)
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    /// A client's whole life.
    func connect(port: Int) async throws -> [Seen] {
        let ended = Self.group.any().makePromise(of: [Seen].self)
        do {
            _ = try await ClientBootstrap(group: Self.group)
                .channelOption(.allowRemoteHalfClosure, value: halfClosure)
                .channelOption(.autoRead, value: autoRead)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            TLSHandler(
                                context: client,
                                serverName: serverName,
                                closeTimeout: closeTimeout
                            ),
                            Recorder(clientScript, ended: ended)
                        )
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            // The channel may have come and gone before the connect was told: what was seen counts then.
            ended.fail(error)
            throw error
        }
        return try await ended.futureResult.get()
    }
}

extension ChannelHandlerContext {
    /// Closes the socket under the TLS handler, without a word of farewell.
    func cutSocket() {
        guard let tls = try? pipeline.syncOperations.context(handlerType: TLSHandler.self) else { return }
        tls.close(promise: nil)
    }

    /// The same with a reset, which throws away what the peer has not received.
    func resetSocket() {
        // Takes effect at once on the event loop.
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        cutSocket()
    }
}
