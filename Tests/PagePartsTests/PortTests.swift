import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import Testing

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

        init(limit: Int = PortLimits.connections) {
            connections = PortConnections(limit: limit)
        }

        func refusal(of request: PageRequest) -> PageResponse? { nil }

        func respond(to request: PageRequest) -> PageResponse {
            answered.append(request.path)
            return PageResponse(status: 200, body: Array(request.path.utf8), contentType: "text/plain")
        }

        func join(_ page: EventPage) { pages += 1 }

        func leave(_ page: EventPage) { pages -= 1 }
    }

    private static let idleSeconds = PortLimits.idleTimeout.nanoseconds / 1_000_000_000

    private func connect(_ loop: EmbeddedEventLoop, to site: Site) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        try PageHandler.serve(site, on: channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func send(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private static func request(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nhost: localhost\r\n\r\n" }

    private func received(from channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    @Test("A connection that asks nothing is closed after its time, however many bytes it dribbles")
    func idle() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let (silent, dribbling) = (try connect(loop, to: site), try connect(loop, to: site))
        try send("GET / HTTP/1.1\r\nx: ", to: dribbling)
        for _ in 1..<Self.idleSeconds {
            loop.advanceTime(by: .seconds(1))
            try send("y", to: dribbling)
        }
        #expect(silent.isActive && dribbling.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!silent.isActive && !dribbling.isActive)
    }

    @Test("A connection that asks now and then stays")
    func busy() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let channel = try connect(loop, to: site)
        for number in 0..<3 {
            loop.advanceTime(by: .seconds(Self.idleSeconds - 1))
            try send(Self.request("/\(number)"), to: channel)
        }
        #expect(site.answered == ["/0", "/1", "/2"] && channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("One that does not read what it asked for gets no further answer until it does, and is closed after its time")
    func doesNotRead() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let channel = try connect(loop, to: site)
        channel.isWritable = false
        try send((0..<1000).map { Self.request("/\($0)") }.joined(), to: channel)
        #expect(try received(from: channel).isEmpty && site.answered.isEmpty)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        loop.run()
        #expect(site.answered.count == 1000)
        #expect(try received(from: channel).hasSuffix("/999"))
        channel.isWritable = false
        try send(Self.request("/last"), to: channel)
        loop.advanceTime(by: PortLimits.idleTimeout)
        #expect(!channel.isActive && site.answered.count == 1000)
    }

    @Test("With one connection too many the one goes that was quiet for longest")
    func tooMany() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site(limit: 2))
        let first = try connect(loop, to: site)
        loop.advanceTime(by: .seconds(1))
        let second = try connect(loop, to: site)
        loop.advanceTime(by: .seconds(1))
        try send(Self.request("/first"), to: first)
        let third = try connect(loop, to: site)
        #expect(first.isActive && !second.isActive && third.isActive)
        // The place of one that has gone is free.
        try third.close().wait()
        let fourth = try connect(loop, to: site)
        #expect(first.isActive && fourth.isActive)
        for channel in [first, fourth] { _ = try channel.finish(acceptAlreadyClosed: true) }
    }

    @Test("A page that follows events stays however little happens, and leaves with its connection")
    func events() throws {
        let (loop, site) = (EmbeddedEventLoop(), Site())
        let channel = try connect(loop, to: site)
        try send(Self.request("/events"), to: channel)
        #expect(site.pages == 1)
        loop.advanceTime(by: .hours(1))
        #expect(channel.isActive && site.pages == 1)
        try channel.close().wait()
        loop.run()
        #expect(site.pages == 0)
    }

    @Test("Over real sockets a connection beyond the limit ends the oldest, and is answered")
    func sockets() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let site = try await group.next().submit { NIOLoopBound(Site(limit: 1), eventLoop: group.next()) }.get()
        let server = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try PageHandler.serve(site.value, on: channel) }
        }.bind(host: "127.0.0.1", port: 0).get()
        let address = try #require(server.localAddress)
        let first = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(to: address).get()
        let second = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(to: address) {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
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
        try await group.shutdownGracefully()
    }
}
