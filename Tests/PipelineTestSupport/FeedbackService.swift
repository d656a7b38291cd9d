import COpenSSL
import NIOCore
import NIOPosix
import TLSTransport

@testable import TLSTransport

/// A feedback service that says what the test tells it to. The test closes it.
final class FeedbackService: Sendable {
    static let bundleID = "com.example.news"

    enum Version: Sendable, CaseIterable {
        case tls12
        case tls13
    }

    /// The connections, each when its handshake is over.
    let connections: AsyncStream<any Channel>
    private let listener: any Channel

    /// - Parameter firstWords: what is said in one segment with the end of the handshake (TLS 1.2), or right after it.
    init(_ pki: PKI, firstWords: [UInt8] = []) async throws {
        let (connections, continuation) = AsyncStream<any Channel>.makeStream()
        let context = try TLSContext(
            server: pki.server,
            clientTrust: .pem(pki.authority.rootPEM()),
            requireClientCertificate: true
        )
        self.connections = connections
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        SegmentGatherer(), TLSHandler(context: context, serverName: nil),
                        Greeter(firstWords) { continuation.yield($0) },
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    func connection() async -> (any Channel)? {
        for await channel in connections { return channel }
        return nil
    }

    func close() async throws { try await listener.close() }

    /// Certificates, made once for all tests: keys take time.
    struct PKI: Sendable {
        let authority: CertificateAuthority
        let server: TLSIdentity
        let client: TLSIdentity

        static func make() throws -> PKI {
            let authority = try CertificateAuthority()
            return PKI(
                authority: authority,
                server: try authority.issueServer(),
                client: try authority.issueClient(bundleID: FeedbackService.bundleID)
            )
        }

        static let shared = Result { try make() }
        static let strange = Result { try make() }

        /// - Parameter client: whose certificate is shown; nil: this one's.
        func context(_ version: Version = .tls13, showing client: TLSIdentity? = nil) throws -> TLSContext {
            let context = try TLSContext(client: client ?? self.client, trust: .pem(authority.rootPEM()))
            if version == .tls12 { context.limitToTLS12() }
            return context
        }

        /// A server that speaks no later version, and wants no certificate.
        func serverContext(_ version: Version) throws -> TLSContext {
            let context = try TLSContext(server: server, clientTrust: nil, requireClientCertificate: false)
            if version == .tls12 { context.limitToTLS12() }
            return context
        }
    }
}

extension TLSContext {
    /// Contexts have no upper limit of their own.
    fileprivate func limitToTLS12() {
        _ = SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    }
}

extension Channel {
    /// Returns when the socket has taken the bytes, which is when they lie at the other end: this is loopback.
    func say(_ bytes: [UInt8]) async throws {
        try await writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Ends the stream without a word.
    func cut() async throws {
        try await eventLoop.submit {
            let operations = self.pipeline.syncOperations
            (try operations.context(handlerType: SegmentGatherer.self)).close(promise: nil)
        }.get()
    }
}

/// Lets everything that is flushed in one turn of the event loop leave as one write, and an end that follows come after
/// it.
private final class SegmentGatherer: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func flush(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.flush() }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.close(mode: mode, promise: promise) }
    }
}

private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let words: [UInt8]
    private let opened: (any Channel) -> Void

    init(_ words: [UInt8], opened: @escaping (any Channel) -> Void) {
        self.words = words
        self.opened = opened
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is TLSHandshakeCompleted else { return }
        if !words.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: words)), promise: nil) }
        opened(context.channel)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
