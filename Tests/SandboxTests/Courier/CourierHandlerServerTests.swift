import NIOCore
import NIOEmbedded
import Testing

@testable import Sandbox
@testable import TLSTransport

/// Begin and end of devices' connections, with time under control.
struct CourierHandlerServerTests {
    private let service = PushService(
        configuration: SandboxConfiguration(pkiDirectory: "", topics: [TopicFixture.topic], devices: 10),
        tokenKey: TopicFixture.key,
        clock: { TopicFixture.now }
    )

    private func connect() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handlers: [
            FarewellHandler(), CourierHandler(service: service, logger: RunningSandbox.quietLogger),
        ])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// A connection whose certificate says this.
    private func greet(topic: String? = nil, device: UInt32?) throws -> EmbeddedChannel {
        let certificate = CertificateInfo(
            topic: topic,
            topics: [],
            environments: .development,
            commonName: "",
            serialHex: "",
            notBefore: 0,
            notAfter: 0,
            device: device
        )
        let channel = try connect()
        channel.pipeline.fireUserInboundEventTriggered(
            TLSHandshakeCompleted(version: "TLSv1.3", cipher: "", peer: certificate)
        )
        return channel
    }

    /// Messages that the device has been sent so far.
    private func messages(_ channel: EmbeddedChannel) throws -> [CourierMessage] {
        var (decoder, messages) = (CourierFrameDecoder(), [CourierMessage]())
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
            buffer.withUnsafeReadableBytes { decoder.append($0) }
        }
        while let frame = try decoder.next() { messages.append(try CourierMessage(frame)) }
        return messages
    }

    private func refusal(_ channel: EmbeddedChannel) throws -> CourierRefusal.Code? {
        guard case .refused(let refusal)? = try messages(channel).last else { return nil }
        return refusal.code
    }

    private func register(_ channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(bytes: CourierRequest.register(topic: TopicFixture.topic).encoded))
    }

    @Test("The handshake has a time limit")
    func handshakeDeadline() throws {
        let channel = try connect()
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.handshake - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
        #expect(service.courier.counters == CourierDirectory.Counters(connected: 0, total: 1, refused: 1))
    }

    @Test("A provider's certificate is refused, and so is one of a device that does not exist")
    func strangers() throws {
        for (topic, device) in [(TopicFixture.topic, nil), (nil, 10)] as [(String?, UInt32?)] {
            let channel = try greet(topic: topic, device: device)
            try register(channel)
            #expect(try messages(channel).count == 1)
            channel.embeddedEventLoop.advanceTime(by: SandboxLimits.linger)
            #expect(!channel.isActive)
        }
        #expect(service.courier.counters == CourierDirectory.Counters(connected: 0, total: 2, refused: 2))
        #expect(service.topics[0].withLedger { $0.outbox.isEmpty })
    }

    @Test("A token has to be presented in time; afterwards there is no limit")
    func presentationDeadline() throws {
        let silent = try greet(device: 1)
        silent.embeddedEventLoop.advanceTime(by: SandboxLimits.presentation)
        #expect(try refusal(silent) == .notPresented)
        let online = try greet(device: 2)
        try register(online)
        online.embeddedEventLoop.advanceTime(by: .hours(24))
        #expect(try refusal(online) == nil)
        #expect(online.isActive)
        #expect(service.courier.counters.connected == 1)
    }

    @Test("Every change of the ledger reaches the device")
    func called() throws {
        let channel = try greet(device: 1)
        try register(channel)
        #expect(try messages(channel).count == 1)
        let delivery = CourierOutbox.Delivery(
            instance: AppInstance(device: 1),
            payload: [5],
            expiration: 0,
            priority: .immediate
        )
        service.topics[0].withLedger { $0.outbox.append(delivery) }
        channel.embeddedEventLoop.run()
        guard case .notification(let notification)? = try messages(channel).first else {
            Issue.record("nothing arrived")
            return
        }
        #expect(notification.payload == [5])
    }

    @Test("When the peer has gone the device is offline at once")
    func gone() throws {
        let channel = try greet(device: 1)
        try register(channel)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(service.courier.counters.connected == 0)
        let state = service.topics[0].withLedger { $0.population.reachability(of: AppInstance(device: 1)) }
        #expect(state == .offline)
    }

    @Test("A newer connection of the device ends the older one")
    func takeover() throws {
        let older = try greet(device: 1)
        try register(older)
        #expect(try messages(older).count == 1)
        let newer = try greet(device: 1)
        older.embeddedEventLoop.run()
        #expect(try refusal(older) == .replaced)
        try register(newer)
        older.embeddedEventLoop.advanceTime(by: SandboxLimits.linger)
        #expect(!older.isActive)
        #expect(newer.isActive)
        #expect(service.courier.counters.connected == 1)
        #expect(service.topics[0].withLedger { $0.outbox.hasDevice(1) })
    }

    @Test("A device that does not read is closed on after a while")
    func stalled() throws {
        let channel = try greet(device: 1)
        try register(channel)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.courierStall - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
        #expect(service.courier.counters.connected == 0)
        #expect(service.topics[0].withLedger { $0.outbox.isEmpty })
    }
}
