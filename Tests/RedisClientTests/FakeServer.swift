import NIOCore
import NIOPosix

/// A server that logs every client in, and from then on does what the test says: the misbehaviour a real one refuses to
/// show. It expects the handshake of a ``TestClient`` without credentials (CLIENT SETNAME, PING).
final class FakeServer: Sendable {
    /// Takes the bytes that come after a connection's login. The connection has this number (from 0 on).
    typealias Behaviour = @Sendable (_ connection: Int, any Channel, ByteBuffer) -> Void
    /// The answer to the login of the connection with this number; nil: none.
    typealias Login = @Sendable (_ connection: Int) -> String?

    let port: Int
    private let channel: any Channel

    init(
        login: @escaping Login = { _ in "+OK\r\n+PONG\r\n" },
        behaviour: @escaping Behaviour
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let count = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: eventLoop)
        channel = try await ServerBootstrap(group: eventLoop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = FakeServerHandler(connection: count.value, login: login, behaviour: behaviour)
                    count.value += 1
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func close() async throws {
        try await channel.close()
    }
}

extension Channel {
    func answer(_ text: String) {
        writeAndFlush(ByteBuffer(string: text), promise: nil)
    }
}

private final class FakeServerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Int
    private let login: FakeServer.Login
    private let behaviour: FakeServer.Behaviour
    private var handshake = ByteBuffer()
    private var isLoggedIn = false

    init(connection: Int, login: @escaping FakeServer.Login, behaviour: @escaping FakeServer.Behaviour) {
        self.connection = connection
        self.login = login
        self.behaviour = behaviour
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if isLoggedIn {
            behaviour(connection, context.channel, bytes)
            return
        }
        handshake.writeBuffer(&bytes)
        // The commands before PING hold no such text; and the client sends nothing more before the answer.
        if String(buffer: handshake).hasSuffix("PING\r\n") {
            isLoggedIn = true
            if let answer = login(connection) { context.channel.answer(answer) }
        }
    }
}
