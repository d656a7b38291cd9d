import NIOCore
import NIOPosix
import Testing

@testable import TLSTransport

/// Errors without TLS on the other side, told apart from a refused certificate.
@Suite(.timeLimit(.minutes(2)))
struct DeadHostTests {
    /// A server without TLS that does one thing to each connection.
    static func connect(to behaviour: @escaping @Sendable (any Channel) -> Void) async throws -> [Seen] {
        let listener = try await ServerBootstrap(group: Loopback.group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { behaviour(channel) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = try await Loopback(client: .testClient(), server: .testServer())
            .connect(port: listener.localAddress?.port ?? 0)
        try await listener.close()
        return client
    }

    @Test("A port without a listener is an error of the connect, not of TLS")
    func nobodyListens() async throws {
        // A port that was free a moment ago may belong to another test by now; this one is never given out.
        let port = 1
        await #expect(throws: NIOConnectionError.self) {
            _ = try await Loopback(client: .testClient(), server: .testServer()).connect(port: port)
        }
    }

    @Test("A connection that ends during the handshake says so, and is not a refusal")
    func closedDuringHandshake() async throws {
        let client = try await Self.connect { channel in
            channel.pipeline.addHandler(CloseAtFirstRead()).whenFailure { _ in }
        }
        #expect(client.count == 2)
        guard case .error(.closedDuringHandshake) = client.first else {
            Issue.record("\(client)")
            return
        }
        #expect(client.errors.first??.isCertificateRefused == false)
    }

    @Test("A server of another protocol is a protocol failure")
    func otherProtocol() async throws {
        let client = try await Self.connect { channel in
            channel.pipeline.addHandler(CloseAtFirstRead(afterSending: "HTTP/1.1 400 Bad Request\r\n\r\n"))
                .whenFailure { _ in }
        }
        guard case .error(.protocolFailure(let reason, let stack)) = client.first else {
            Issue.record("\(client)")
            return
        }
        #expect(reason.contains("wrong version number"))
        #expect(stack.first == reason)
    }
}

private final class CloseAtFirstRead: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let farewell: String

    init(afterSending farewell: String = "") {
        self.farewell = farewell
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(NIOAny(ByteBuffer(string: farewell)), promise: nil)
        context.close(promise: nil)
    }
}
