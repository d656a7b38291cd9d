import APNsProtocol
import NIOCore
import NIOPosix
import PageParts
import Testing

@testable import Sandbox

/// The page's part of the control port, over the wire.
struct PageServerTests {
    /// Collects what is read and says when something has come. Belongs to the channel's event loop.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private var awaited: [(text: String, promise: EventLoopPromise<String>)] = []

        func wait(for text: String, _ promise: EventLoopPromise<String>) {
            awaited.append((text, promise))
            check()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            check()
        }

        func channelInactive(context: ChannelHandlerContext) {
            for (_, promise) in awaited { promise.fail(ChannelError.eof) }
            awaited = []
        }

        private func check() {
            for (wanted, promise) in awaited where text.contains(wanted) { promise.succeed(text) }
            awaited.removeAll { text.contains($0.text) }
        }
    }

    /// A connection that stays.
    private struct Stream {
        let channel: any Channel
        let reader: NIOLoopBound<Reader>

        /// All that was read, once it holds this.
        func until(_ text: String) async throws -> String {
            let promise = channel.eventLoop.makePromise(of: String.self)
            channel.eventLoop.execute { reader.value.wait(for: text, promise) }
            return try await promise.futureResult.get()
        }
    }

    @Test("The page offers every documented reason, each once")
    func reasons() throws {
        let text = String(decoding: PageFile.faultList.body, as: UTF8.self)
        let list = try #require(text.firstRange(of: "const REASONS = [")).upperBound
        let end = try #require(text[list...].firstIndex(of: "]"))
        let offered = text[list..<end].split(separator: "\"").filter { $0.contains(where: \.isLetter) }.map(String.init)
        #expect(offered.count == ProviderReason.table.count)
        #expect(Set(offered) == Set(ProviderReason.table.map(\.reason.rawValue)))
    }

    private func open(
        _ sandbox: RunningSandbox,
        _ request: String = "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n"
    ) async throws -> Stream {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let reader = try await loop.submit { NIOLoopBound(Reader(), eventLoop: loop) }.get()
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(reader.value) }
            }
            .connect(host: "127.0.0.1", port: sandbox.server.ports.control).get()
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return Stream(channel: channel, reader: reader)
    }

    @Test("Every file the page names is served, with its type and a policy that forbids everything from elsewhere")
    func files() async throws {
        try await RunningSandbox.run { sandbox in
            let page = try #require(PageFile.sandbox.first { $0.path == "/" })
            let document = String(decoding: page.body, as: UTF8.self)
            #expect(document.contains("/page/style.css") && document.contains("/page/main.js"))
            for file in PageFile.sandbox {
                let request = "GET \(file.path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
                let stream = try await open(sandbox, request)
                let head = try await stream.until("\r\n\r\n").lowercased()
                #expect(head.hasPrefix("http/1.1 200 ok\r\n"), "\(file.path)")
                #expect(head.contains("content-type: \(file.contentType)\r\n"), "\(file.path)")
                #expect(head.contains("content-length: \(file.body.count)\r\n"), "\(file.path)")
                let policy = "content-security-policy: default-src 'none'; script-src 'self';"
                #expect(head.contains(policy), "\(file.path)")
                #expect(head.contains("x-content-type-options: nosniff\r\n"), "\(file.path)")
                #expect(!head.contains("access-control-"), "\(file.path)")
                try await stream.channel.closeFuture.get()
            }
        }
    }

    @Test("The page takes nothing from other hosts, and every module it imports exists")
    func selfContained() {
        for file in PageFile.sandbox {
            let text = String(decoding: file.body, as: UTF8.self)
            // The name of a format, not an address.
            let cleaned = text.replacing("http://www.w3.org/2000/svg", with: "")
            for address in ["http://", "https://", "\"//"] {
                #expect(!cleaned.contains(address), "\(file.path)")
            }
            for line in text.split(separator: "\n") where line.hasPrefix("import ") {
                let path = line.split(separator: "\"").dropFirst().first.map(String.init) ?? ""
                #expect(PageFile.sandbox.contains { $0.path == path }, "\(file.path): \(line)")
            }
        }
    }

    @Test("A stream begins with the topics and the counts, and tells of deliveries as they happen")
    func stream() async throws {
        try await RunningSandbox.run { sandbox in
            let stream = try await open(sandbox)
            let start = try await stream.until("event: stats\n")
            let topics = RunningSandbox.topics.map { #"{"columns":40,"devices":1000,"name":"\#($0)"}"# }
            let hello = #"data: {"environment":"development","topics":[\#(topics.joined(separator: ","))]}"#
            #expect(start.contains("content-type: text/event-stream\r\n"))
            #expect(start.contains("event: hello\n\(hello)\n\n"))

            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(Frame.command2(identifier: 1, token: try sandbox.token(3)))
            let flashes = try await stream.until("event: flashes\n")
            #expect(flashes.contains(#"data: {"0":["AAAD","","",""]}"#))
            #expect(try await stream.until(#""accepted":1,"#).contains(#""delivered":1,"#))
            try await provider.channel.close()
            try await stream.channel.close()
        }
    }

    @Test("No more than the limit of streams are open; one that leaves makes room")
    func limit() async throws {
        try await RunningSandbox.run { sandbox in
            var streams: [Stream] = []
            for _ in 0..<SandboxLimits.eventStreams {
                let stream = try await open(sandbox)
                _ = try await stream.until("event: hello\n")
                streams.append(stream)
            }
            let refused = try await sandbox.control("GET", "/events")
            #expect(refused == (503, #"{"error":"32 pages are open, no more are served"}"#))
            try await streams.removeLast().channel.close()
            var isIn = false
            // The end of the other one arrives when it arrives.
            while !isIn {
                let stream = try await open(sandbox)
                isIn = try await stream.until("\r\n\r\n").hasPrefix("HTTP/1.1 200")
                streams.append(stream)
            }
            #expect(isIn)
            for stream in streams { try await stream.channel.close() }
        }
    }

    @Test("A web page from elsewhere switches no fault on, programs do")
    func crossSite() async throws {
        try await RunningSandbox.run { sandbox in
            let body = #"{"name":"answer-delay","milliseconds":1}"#
            func post(_ headers: String) async throws -> String {
                let request =
                    "POST /faults HTTP/1.1\r\n\(headers)connection: close\r\ncontent-type: text/plain\r\n"
                    + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
                return String(try await open(sandbox, request).until("\r\n\r\n").prefix(12))
            }
            for headers in [
                "host: localhost\r\norigin: http://evil.example\r\n", "host: evil.example\r\n",
                "host: localhost\r\nsec-fetch-site: cross-site\r\n",
            ] {
                let status = try await post(headers)
                #expect(status == "HTTP/1.1 403", "\(headers)")
            }
            let status = try await post("host: localhost\r\n")
            #expect(status == "HTTP/1.1 200")
        }
    }
}
