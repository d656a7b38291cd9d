import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import Sandbox
@testable import TLSTransport

/// Begin and end of connections, with time under control.
struct DoorServerTests {
    /// The end of the pipeline that stands for TLS and socket: notes what it is asked to do.
    private final class Outside: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var closes: [CloseMode] = []

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            closes.append(mode)
            if mode == .all { context.close(promise: promise) } else { promise?.succeed() }
        }
    }

    private let outside = Outside()
    private let service = PushService(
        configuration: SandboxConfiguration(pkiDirectory: "", topics: [TopicFixture.topic], devices: 10),
        tokenKey: TopicFixture.key,
        clock: { TopicFixture.now }
    )

    private func certificate(
        topic: String? = TopicFixture.topic,
        environments: CertificateInfo.Environments = .development
    ) -> CertificateInfo {
        CertificateInfo(
            topic: topic,
            topics: [],
            environments: environments,
            commonName: "",
            serialHex: "",
            notBefore: 0,
            notAfter: 0
        )
    }

    private func greet(
        _ certificate: CertificateInfo?,
        at kind: ProviderDoor.Kind = .gateway
    ) throws -> EmbeddedChannel {
        let channel = try connect(kind)
        channel.pipeline.fireUserInboundEventTriggered(
            TLSHandshakeCompleted(version: "TLSv1.3", cipher: "", peer: certificate)
        )
        return channel
    }

    private func connect(_ kind: ProviderDoor.Kind = .gateway) throws -> EmbeddedChannel {
        let greeter = ProviderGreeter(service: service, kind: kind, logger: RunningSandbox.quietLogger) {
            [service] topic in
            GatewayHandler(service: service, topic: topic, logger: RunningSandbox.quietLogger)
        }
        let channel = EmbeddedChannel(handlers: [outside, FarewellHandler(), greeter])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    @Test("The handshake has a time limit")
    func handshakeDeadline() throws {
        let channel = try connect()
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.handshake - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
        #expect(service.connections.refused == 1)
        #expect(service.connections.open == 0)
    }

    @Test("After the handshake there is no time limit")
    func noDeadlineAfterwards() throws {
        let channel = try greet(certificate())
        channel.embeddedEventLoop.advanceTime(by: .hours(24))
        #expect(channel.isActive)
        #expect(service.connections.refused == 0)
        #expect(service.connections.open == 1)
    }

    @Test("Without certificate, topic, a served topic or the right environment all is closed, and counted once")
    func refusals() throws {
        let refused = [
            nil, certificate(topic: nil), certificate(topic: "com.example.other"),
            certificate(environments: .production),
        ]
        for (index, certificate) in refused.enumerated() {
            let channel = try greet(certificate)
            channel.pipeline.fireErrorCaught(TLSError.uncleanShutdown)
            #expect(!channel.isActive)
            #expect(service.connections.refused == index + 1)
        }
    }

    @Test("A certificate for both environments is good for this one")
    func bothEnvironments() throws {
        let channel = try greet(certificate(environments: [.development, .production]))
        #expect(channel.isActive)
    }

    @Test("connection-limit serves no more of a topic's gateway connections at a time, and closes the others")
    func connectionLimit() throws {
        service.topics[0].withLedger { $0.faults.arm(Fault(.connectionLimit(count: 2))) }
        let channels = try (0..<3).map { _ in try greet(certificate()) }
        #expect(channels.map(\.isActive) == [true, true, false])
        #expect(service.connections.refused == 1)
        #expect(try greet(certificate(), at: .feedback).isActive, "the feedback service has no such limit")
        try channels[0].close().wait()
        channels[0].embeddedEventLoop.run()
        #expect(try greet(certificate()).isActive, "there is room again")
        #expect(service.topics[0].withLedger { $0.faults.strikes } == [.connectionLimit: 1])
    }

    @Test("Bytes of one connection reach its session, and the answer goes out before its end")
    func gateway() throws {
        let channel = try greet(certificate())
        try channel.writeInbound(ByteBuffer(bytes: Frame.sentinel(identifier: 5)))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [8, 2, 0, 0, 0, 5]))
        #expect(outside.closes == [.output])
        #expect(channel.isActive, "it goes on reading")
    }

    @Test("When everything is said it waits for the peer to close")
    func lingersUntilThePeerCloses() throws {
        let channel = try greet(certificate())
        try channel.writeInbound(ByteBuffer(bytes: Frame.sentinel(identifier: 5)))
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.linger - .nanoseconds(1))
        #expect(channel.isActive)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!channel.isActive)
        #expect(outside.closes == [.output, .all])
    }

    @Test("A peer that does not close is closed on after a while")
    func lingerHasALimit() throws {
        let channel = try greet(certificate())
        try channel.writeInbound(ByteBuffer(bytes: Frame.sentinel(identifier: 5)))
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.linger)
        #expect(!channel.isActive)
    }

    @Test("An answer that is held back goes out when its time has come, though the peer has closed its side")
    func delayedAnswer() throws {
        service.topics[0].withLedger { $0.faults.arm(Fault(.answerDelay(milliseconds: 50))) }
        let channel = try greet(certificate())
        try channel.writeInbound(ByteBuffer(bytes: Frame.sentinel(identifier: 5)))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(49))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [8, 2, 0, 0, 0, 5]))
        #expect(!channel.isActive)
    }
}
