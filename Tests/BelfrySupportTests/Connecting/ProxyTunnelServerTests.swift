import NIOCore
import NIOPosix
import PipelineCore
import Synchronization
import TLSTransport
import TestSupport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport

/// Connections through a proxy: scripted ones with all manners, and tinyproxy.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTunnelServerTests {
    private static let ok = "HTTP/1.1 200 Connection established\r\n\r\n"
    private static let gateway = HostPort(host: "gateway.example", port: 443)

    /// Servers behind a proxy, on their event loop, with a memory of their own.
    private struct Service: Sendable {
        private let addresses: NIOLoopBound<ServiceAddresses>
        private var eventLoop: any EventLoop { addresses.eventLoop }

        init(
            of names: [HostPort] = [ProxyTunnelServerTests.gateway],
            through proxy: ProxySettings,
            _ resolve: @escaping ServiceAddresses.Resolve = ServiceAddresses.system
        ) async throws {
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let memory = AddressMemory()
            addresses = try await eventLoop.submit {
                NIOLoopBound(
                    ServiceAddresses(names, through: proxy, eventLoop: eventLoop, memory: memory, resolve: resolve),
                    eventLoop: eventLoop
                )
            }.get()
        }

        /// Makes one attempt, and closes the connection.
        ///
        /// - Returns: the server and the proxy's address that it led to.
        @discardableResult
        func connect(turn: Int = 0, timeout: TimeAmount = .seconds(30)) async throws -> String {
            try await attempt(turn: turn, timeout: timeout) { connected, promise in
                connected.channel.close(promise: nil)
                promise.succeed("\(connected.place.name) \(connected.place.address.ipAddress ?? "")")
            }
        }

        /// The failure of one attempt.
        func failure(timeout: TimeAmount = .seconds(30)) async -> ProxyFailure? {
            do {
                try await connect(timeout: timeout)
                return nil
            } catch {
                return error as? ProxyFailure
            }
        }

        func attempt<Value: Sendable>(
            turn: Int = 0,
            timeout: TimeAmount = .seconds(30),
            _ body: @escaping @Sendable (ServiceAddresses.Connected, EventLoopPromise<Value>) throws -> Void
        ) async throws -> Value {
            try await eventLoop.flatSubmit { [addresses, eventLoop] in
                let promise = eventLoop.makePromise(of: Value.self)
                let bootstrap = ClientBootstrap(group: eventLoop).channelOption(.allowRemoteHalfClosure, value: true)
                addresses.value.connect(bootstrap, turn: turn, timeout: timeout) { result in
                    do {
                        try body(try result.get(), promise)
                    } catch {
                        promise.fail(error)
                    }
                }
                return promise.futureResult
            }.get()
        }

        func setBack(_ name: HostPort) async throws {
            let place = ServiceAddresses.Place(name: name, address: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
            try await eventLoop.submit { [addresses] in addresses.value.setBack(place) }.get()
        }
    }

    /// Runs the test with a proxy that treats all requests so.
    private func withProxy(
        _ conduct: ScriptedProxy.Conduct,
        _ test: (ScriptedProxy) async throws -> Void
    ) async throws {
        let proxy = try await ScriptedProxy { _ in conduct }
        try await test(proxy)
        try await proxy.close()
    }

    // MARK: What the proxy is asked

    /// Hosts whose addresses were looked up.
    private final class Asked: Sendable {
        let hosts = Mutex<[String]>([])
    }

    @Test("The proxy is asked for the gateway by its name, with the login, and only the proxy's own name is resolved")
    func names() async throws {
        try await withProxy(.answer([Self.ok])) { proxy in
            let asked = Asked()
            let url = "http://me:sesame@proxy.example:\(proxy.port)"
            let service = try await Service(through: ProxySettings(url: url)) { name in
                asked.hosts.withLock { $0.append(name.host) }
                return [try SocketAddress(ipAddress: "127.0.0.1", port: name.port)]
            }
            #expect(try await service.connect() == "gateway.example:443 127.0.0.1")
            #expect(asked.hosts.withLock { $0 } == ["proxy.example"])
            let head = "CONNECT gateway.example:443 HTTP/1.1\r\nHost: gateway.example:443\r\n"
            #expect(proxy.requests == [head + "Proxy-Authorization: Basic bWU6c2VzYW1l\r\n\r\n"])
        }
    }

    @Test("An IPv6 address of a gateway stands in brackets")
    func literal() async throws {
        try await withProxy(.answer([Self.ok])) { proxy in
            let service = try await Service(of: [HostPort(host: "::1", port: 2195)], through: proxy.settings())
            try await service.connect()
            #expect(proxy.requests == ["CONNECT [::1]:2195 HTTP/1.1\r\nHost: [::1]:2195\r\n\r\n"])
        }
    }

    @Test("An answer in single bytes, behind one that informs, opens the tunnel")
    func pieces() async throws {
        let answer = "HTTP/1.1 100 Continue\r\n\r\n" + Self.ok
        try await withProxy(.answer(answer.unicodeScalars.map { String($0) })) { proxy in
            let service = try await Service(through: proxy.settings())
            #expect(try await service.connect() == "gateway.example:443 127.0.0.1")
        }
    }

    // MARK: Proxies that refuse, and hostile ones

    @Test(
        "What a proxy does instead of opening a tunnel fails the attempt, and the error says what it was",
        arguments: [
            (.answer(["HTTP/1.1 502 Bad Gateway\r\n\r\n"]), .refused(status: 502)),
            (.answer(["HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"]), .refused(status: 503)),
            (.answer(["SSH-2.0-OpenSSH_9.2\r\n"]), .notHTTP),
            (.answer(["HTTP/1.1 200 OK\r\n\r\n\u{15}\u{3}\u{1}"]), .spokeFirst),
            (.answer(["HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: 70_000)]), .headTooLong),
            (.close, .closed),
        ] as [(ScriptedProxy.Conduct, ProxyTunnelStateMachine.Failure)]
    )
    func instead(conduct: ScriptedProxy.Conduct, expected: ProxyTunnelStateMachine.Failure) async throws {
        try await withProxy(conduct) { proxy in
            let failure = try #require(try await Service(through: proxy.settings()).failure())
            #expect(failure.cause == .noTunnel(expected))
            #expect("\(failure)".contains("the proxy 127.0.0.1:\(proxy.port)"))
        }
    }

    @Test("A proxy that does not answer, or not to the end, fails the attempt when its time is over")
    func silent() async throws {
        for pieces in [[], ["HTTP/1.1 200 OK\r\n"]] {
            try await withProxy(.answer(pieces)) { proxy in
                let service = try await Service(through: proxy.settings())
                let failure = try #require(await service.failure(timeout: .milliseconds(100)))
                #expect(failure.cause == .noTunnel(.silent))
            }
        }
    }

    @Test("A refused login is told as such, without the password, and no other gateway is asked for")
    func login() async throws {
        let answer = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n"
        try await withProxy(.answer([answer])) { proxy in
            let names = [Self.gateway, HostPort(host: "other.example", port: 443)]
            let service = try await Service(of: names, through: proxy.settings(login: "me:sesame@"))
            let failure = try #require(await service.failure())
            #expect(failure.isLoginRefused && proxy.requests.count == 1)
            #expect("\(failure)".hasSuffix(" refuses the configured user and password (status 407)"))
        }
    }

    @Test("A proxy that is not there is told as the proxy, with the reason")
    func away() async throws {
        let proxy = try await ScriptedProxy { _ in .close }
        let settings = try proxy.settings()
        try await proxy.close()
        let failure = try #require(try await Service(through: settings).failure())
        #expect(failure.cause == .unreachable("cannot connect: connection refused") && !failure.isOfTarget)
    }

    // MARK: Several gateways, several addresses

    @Test("A gateway that the proxy refuses is passed in the same attempt, and asked for last from then on")
    func severalGateways() async throws {
        let names = ["a", "b", "c"].map { HostPort(host: $0, port: 1) }
        let proxy = try await ScriptedProxy { authority in
            .answer([authority == "b:1" ? Self.ok : "HTTP/1.1 503 No\r\n\r\n"])
        }
        let service = try await Service(of: names, through: proxy.settings())
        #expect(try await service.connect() == "b:1 127.0.0.1")
        #expect(try await service.connect(turn: 1) == "b:1 127.0.0.1")
        #expect(proxy.requests.map { String($0.prefix(11).suffix(3)) } == ["a:1", "b:1", "c:1", "b:1"])
        try await proxy.close()
    }

    @Test("A gateway whose handshake did not end is asked for after the others")
    func setBack() async throws {
        let names = ["a", "b"].map { HostPort(host: $0, port: 1) }
        try await withProxy(.answer([Self.ok])) { proxy in
            let service = try await Service(of: names, through: proxy.settings())
            #expect(try await service.connect() == "a:1 127.0.0.1")
            try await service.setBack(names[0])
            #expect(try await service.connect() == "b:1 127.0.0.1")
        }
    }

    @Test("When the proxy reaches none of the gateways the attempt fails, each of them asked for once")
    func noGateway() async throws {
        let names = ["a", "b"].map { HostPort(host: $0, port: 1) }
        try await withProxy(.answer(["HTTP/1.1 502 No\r\n\r\n"])) { proxy in
            let failure = try #require(try await Service(of: names, through: proxy.settings()).failure())
            #expect(failure.isOfTarget && proxy.requests.count == 2)
            #expect("\(failure)".contains("does not connect to b:1: status 502"))
        }
    }

    @Test(
        "Gateways share the time for answers, down to 2 s for each, or to all of a shorter time",
        arguments: [(1, 10_000, 10_000), (2, 10_000, 5000), (16, 10_000, 2000), (16, 60_000, 3750), (16, 500, 500)]
    )
    func shares(names: Int, milliseconds: Int, expected: Int) {
        let share = ServiceAddresses.answerTimeout(names: names, within: .milliseconds(Int64(milliseconds)))
        #expect(share == .milliseconds(Int64(expected)))
    }

    @Test("Eight dead addresses of the proxy are passed in one attempt, and it is asked once")
    func deadAddresses() async throws {
        try await withProxy(.answer([Self.ok])) { proxy in
            let service = try await Service(through: proxy.settings()) { name in
                try ((2...9).map { "127.0.0.\($0)" } + ["127.0.0.1"])
                    .map { try SocketAddress(ipAddress: $0, port: name.port) }
            }
            #expect(try await service.connect() == "gateway.example:443 127.0.0.1")
            #expect(proxy.requests.count == 1)
        }
    }

    @Test("An address of the proxy that answers nonsense is tried after the others")
    func brokenAddress() async throws {
        let broken = try await ScriptedProxy { _ in .close }
        let good = try await ScriptedProxy(address: "127.0.0.2", port: broken.port) { _ in .answer([Self.ok]) }
        let service = try await Service(through: broken.settings()) { name in
            try ["127.0.0.1", "127.0.0.2"].map { try SocketAddress(ipAddress: $0, port: name.port) }
        }
        #expect(await service.failure()?.cause == .noTunnel(.closed))
        #expect(try await service.connect() == "gateway.example:443 127.0.0.2")
        try await broken.close()
        try await good.close()
    }

    // MARK: TLS in the tunnel

    /// The end of a client's pipeline: tells whether the handshake came about.
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let done: EventLoopPromise<Void>

        init(_ done: EventLoopPromise<Void>) { self.done = done }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is TLSHandshakeCompleted {
                done.succeed()
                context.close(promise: nil)
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            done.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            done.fail(ChannelError.eof)
            context.fireChannelInactive()
        }
    }

    /// Shakes hands with a service that is asked for by this name.
    private func shakeHands(_ name: String, _ port: Int, through proxy: ProxySettings) async throws {
        let context = try FeedbackService.PKI.shared.get().context()
        try await Service(of: [HostPort(host: name, port: port)], through: proxy).attempt { connected, promise in
            try connected.beginTLS(context, Witness(promise))
        }
    }

    @Test("The bytes that TLS counts are the stream's, with those that went to the proxy")
    func counted() async throws {
        try await withProxy(.answer([Self.ok])) { proxy in
            let service = try await Service(through: proxy.settings())
            let context = try FeedbackService.PKI.shared.get().context()
            let (channel, count): (any Channel, Int) = try await service.attempt { connected, promise in
                try connected.beginTLS(context, Witness(connected.channel.eventLoop.makePromise()))
                let tls = try connected.channel.pipeline.syncOperations.handler(type: TLSHandler.self)
                promise.succeed((connected.channel, Int(tls.ciphertextBytes)))
            }
            #expect(count > 200, "a hello has been written")
            // Ends by the suite's time limit when the counts differ.
            while proxy.receivedBytes != count {
                try Task.checkCancellation()
                try await channel.eventLoop.scheduleTask(in: .milliseconds(1)) {}.futureResult.get()
            }
            try await channel.close()
        }
    }

    @Test("The name that TLS verifies is the server's, though the certificate would do for the proxy's")
    func verified() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        try await withProxy(.tunnel) { proxy in
            try await shakeHands("localhost", service.port, through: proxy.settings())
            let error = await #expect(throws: TLSError.self) {
                try await shakeHands("gateway.example", service.port, through: proxy.settings())
            }
            guard case .peerNotTrusted(_, "gateway.example"?, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        try await service.close()
    }

    @Test("Through tinyproxy, with a login and to a port that it allows, TLS is spoken with the server")
    func tinyProxy() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let proxy = try TinyProxyProcess(login: ("me", "sesame"), ports: [service.port])
        let settings = try ProxySettings(url: "http://me:sesame@127.0.0.1:\(proxy.port)")
        try await shakeHands("localhost", service.port, through: settings)
        try await service.close()
    }

    @Test("Refusals of tinyproxy are told with its status: no login, a wrong one, a forbidden port, a dead server")
    func tinyProxyRefusals() async throws {
        let port = try freePort()
        let proxy = try TinyProxyProcess(login: ("me", "sesame"), ports: [port])
        func failure(login: String, port: Int) async throws -> ProxyFailure? {
            let settings = try ProxySettings(url: "http://\(login)127.0.0.1:\(proxy.port)")
            return try await Service(of: [HostPort(host: "127.0.0.1", port: port)], through: settings).failure()
        }
        for login in ["", "me:wrong@", "other:sesame@"] {
            #expect(try await failure(login: login, port: port)?.isLoginRefused == true, "\(login)")
        }
        let forbidden = try await failure(login: "me:sesame@", port: 9)
        #expect(forbidden?.cause == .noTunnel(.refused(status: 403)))
        let dead = try await failure(login: "me:sesame@", port: port)
        #expect(dead?.cause == .noTunnel(.refused(status: 500)) && dead?.isOfTarget == true)
    }
}
