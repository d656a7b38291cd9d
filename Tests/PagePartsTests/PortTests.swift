import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import HTTPPorts
@testable import PageParts

@Suite("A port with a page that a client tries to hold up", .timeLimit(.minutes(1)))
struct PortTests {
    /// Answers every request with its path.
    private final class Site: PageSite {
        let connections: PortConnections
        let bodyLimitBytes = 100
        let guardian = RequestGuard()
        private(set) var answered: [String] = []
        private(set) var pages = 0

        init(_ limits: PortLimits = .page) { connections = PortConnections(limits) }

        func refusal(of request: PageRequest) -> PageResponse? { nil }

        func respond(to request: PageRequest) -> PageResponse {
            answered.append(request.path)
            return PageResponse(status: 200, body: Array(request.path.utf8), contentType: "text/plain")
        }

        func join(_ page: EventPage) { pages += 1 }

        func leave(_ page: EventPage) { pages -= 1 }
    }

    /// All of it runs on the test's thread, as the loop does.
    private func connect(_ loop: EmbeddedEventLoop, to site: Site) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        let port = PagePort.channel(site, on: loop)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let value = try port.setup(channel: channel, logger: logger).wait()
        Task(executorPreference: RunningPort.LoopExecutor(loop)) { await port.handle(value: value, logger: logger) }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func send(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
        channel.embeddedEventLoop.run()
    }

    private func setWritable(_ isWritable: Bool, _ channel: EmbeddedChannel) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.run()
    }

    private static func request(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nhost: localhost\r\n\r\n" }

    private func received(from channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    @Test("One that does not read what it asked for gets no further answer until it does, and is closed after its time")
    func doesNotRead() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let channel = try connect(loop, to: site)
        setWritable(false, channel)
        try send((0..<1000).map { Self.request("/\($0)") }.joined(), to: channel)
        // The first one is made, and waits.
        #expect(try received(from: channel).isEmpty && site.answered == ["/0"])
        setWritable(true, channel)
        #expect(site.answered.count == 1000)
        #expect(try received(from: channel).hasSuffix("/999"))
        setWritable(false, channel)
        for path in ["/last", "/none"] { try send(Self.request(path), to: channel) }
        loop.advanceTime(by: PortLimits.page.idleTimeout)
        #expect(!channel.isActive && site.answered.count == 1001)
        #expect(try received(from: channel).isEmpty)
    }

    @Test("A head that is longer than a browser's is answered with 431")
    func longHead() throws {
        let channel = try connect(EmbeddedEventLoop(), to: Site())
        try send("GET / HTTP/1.1\r\n", to: channel)
        for _ in 0...PortLimits.page.headBytes / 1000 {
            try send("x: \(String(repeating: "y", count: 1000))\r\n", to: channel)
        }
        #expect(try received(from: channel).hasPrefix("HTTP/1.1 431 "))
        #expect(!channel.isActive)
    }

    @Test("A page that follows events stays however little happens, and leaves with its connection")
    func events() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let channel = try connect(loop, to: site)
        try send(Self.request("/events"), to: channel)
        #expect(site.pages == 1)
        loop.advanceTime(by: .hours(1))
        #expect(channel.isActive && site.pages == 1)
        #expect(!channel.allowRemoteHalfClosure, "its end is the connection's")
        try channel.close().wait()
        loop.run()
        #expect(site.pages == 0)
    }

    private func client(of port: RunningPort) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }

    @Test("A port that stops ends its connections, those that follow events, too", arguments: ["/events", "/other"])
    func stop(path: String) async throws {
        let port = try await RunningPort.open(host: "127.0.0.1", port: 0) { PagePort.channel(Site(), on: $0) }
        try await client(of: port).executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: Self.request(path)))
            var pieces = inbound.makeAsyncIterator()
            #expect(try await pieces.next() != nil)
            try await port.stop()
            while try await pieces.next() != nil {}
        }
        try await port.stop()
    }

    @Test("Over real sockets a connection beyond the limit ends the oldest, and is answered")
    func sockets() async throws {
        let limits = PortLimits(connections: 1, headBytes: 1 << 10)
        let port = try await RunningPort.open(host: "127.0.0.1", port: 0) { PagePort.channel(Site(limits), on: $0) }
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port.port)
        let first = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(to: address).get()
        let second = try await client(of: port)
        try await first.closeFuture.get()
        try await second.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: Self.request("/here")))
            var text = ""
            for try await bytes in inbound {
                text += String(buffer: bytes)
                if text.hasSuffix("/here") { break }
            }
            #expect(text.hasPrefix("HTTP/1.1 200"))
        }
        try await port.stop()
    }
}
