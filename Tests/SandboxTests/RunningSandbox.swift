import APNsProtocol
import Foundation
import Logging
import NIOCore
import NIOPosix
import TLSTransport
import Testing

@testable import Sandbox

/// A sandbox on free ports with a PKI of its own, and providers to talk to it.
struct RunningSandbox: Sendable {
    static let topics = ["com.example.a", "com.example.b"]

    let server: SandboxServer
    let pki: DevelopmentPKI
    private let group: MultiThreadedEventLoopGroup

    /// Starts one, hands it to `body`, and leaves nothing behind.
    static func run(
        devices: Int = 1000,
        threads: Int = 1,
        faultScript: String? = nil,
        clock: @escaping @Sendable () -> UInt32 = { TopicFixture.now },
        ledger: LedgerConfiguration = LedgerConfiguration(),
        configure: (inout SandboxConfiguration) throws -> Void = { _ in },
        _ body: (RunningSandbox) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sandbox-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Sandbox.writeCertificates(directory: directory, topics: topics)
        var configuration = SandboxConfiguration(pkiDirectory: directory, topics: topics, devices: devices)
        configuration.gatewayPort = 0
        configuration.feedbackPort = 0
        configuration.controlPort = 0
        configuration.devicePort = 0
        configuration.apiPort = 0
        configuration.threads = threads
        configuration.ledger = ledger
        if let faultScript {
            let file = directory + "/faults.json"
            try Data(faultScript.utf8).write(to: URL(filePath: file))
            configuration.faultScript = file
        }
        try configure(&configuration)
        let server = try await SandboxServer.start(configuration, logger: quietLogger, clock: clock)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pki = DevelopmentPKI(directory: directory, environments: configuration.environment.ofCertificates)
        let sandbox = RunningSandbox(server: server, pki: pki, group: group)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(sandbox))
        } catch {
            result = .failure(error)
        }
        try await group.shutdownGracefully()
        try await server.stop()
        try result.get()
    }

    static let quietLogger = Logger(label: "sandbox.tests") { _ in SwiftLogNoOpLogHandler() }

    func token(_ device: UInt32, topic: String = topics[0]) throws -> [UInt8] {
        let mint = TokenMint(key: try pki.tokenKey(), environment: .development, topic: topic)
        return mint.token(of: AppInstance(device: device))
    }

    /// A provider token of a key in the PKI directory, as the value of `authorization`.
    func authorization(
        team: String = Sandbox.defaultTeam,
        topic: String? = nil,
        issuedAt: UInt32 = TopicFixture.now
    ) throws -> String {
        let id = ProviderKeyList.id(team: team, topic: topic, environment: .development)
        let folder = team == Sandbox.defaultTeam ? nil : team
        let key = try ProviderKey(file: pki.providerKeyFile(id, folder: folder))
        let keyID = try #require(ProviderKeyID(team: team, key: id))
        let compact = try ProviderToken(key: keyID, issuedAt: Int64(issuedAt))
            .compact { input throws(TLSConfigurationError) in try key.signature(of: input) }
        return "bearer " + String(decoding: compact, as: UTF8.self)
    }

    /// Connects as the provider of a topic.
    func connect(
        to port: Int,
        topic: String = topics[0],
        minimumVersion: TLSContext.MinimumVersion = .tls12
    ) async throws -> Provider {
        let identity = try TLSIdentity(pemFile: pki.pemFile(bundleID: topic))
        return try await connect(to: port, identity: identity, minimumVersion: minimumVersion)
    }

    /// Connects with any certificate, or none.
    func connect(
        to port: Int,
        identity: TLSIdentity?,
        minimumVersion: TLSContext.MinimumVersion = .tls12
    ) async throws -> Provider {
        let tls = try TLSContext(client: identity, trust: .file(pki.authorityFile), minimumVersion: minimumVersion)
        let end = group.next().makePromise(of: Provider.End.self)
        let connecting = ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(TLSHandler(context: tls, serverName: "127.0.0.1"))
                    try pipeline.addHandler(Provider.Collector(end: end))
                }
            }
            .connect(host: "127.0.0.1", port: port)
        connecting.cascadeFailure(to: end)
        return Provider(channel: try await connecting.get(), end: end.futureResult)
    }

    /// Sends requests to the provider API, one after the other on one connection.
    ///
    /// - Returns: the answers until the connection was closed.
    func call(_ calls: [APICall], identity: TLSIdentity?, protocols: [String] = ["h2"]) async throws -> [APIReply] {
        let tls = try TLSContext(client: identity, trust: .file(pki.authorityFile), protocols: protocols)
        let done = group.next().makePromise(of: [APIReply].self)
        let connecting = ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(TLSHandler(context: tls, serverName: "127.0.0.1"))
                    try pipeline.addHandler(APICaller(calls: calls, done: done))
                }
            }
            .connect(host: "127.0.0.1", port: server.ports.api)
        connecting.cascadeFailure(to: done)
        let replies = try await done.futureResult.get()
        try? await connecting.get().close()
        return replies
    }

    /// One request to the control port, on a connection of its own.
    func control(_ method: String, _ path: String, _ body: String = "") async throws -> (status: Int, body: String) {
        let end = group.next().makePromise(of: Provider.End.self)
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Provider.Collector(end: end))
                }
            }
            .connect(host: "127.0.0.1", port: server.ports.control).get()
        let request =
            "\(method) \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
        try await channel.writeAndFlush(ByteBuffer(string: request))
        let text = String(decoding: try await end.futureResult.get().bytes, as: UTF8.self)
        let parts = text.components(separatedBy: "\r\n\r\n")
        return (Int(text.split(separator: " ")[1]) ?? 0, parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    /// Asks until the answer contains this text: each request goes through the service, so it gets on meanwhile.
    func wait(for text: String, at path: String = "/stats") async throws {
        while try await !control("GET", path).body.contains(text) {}
    }

    /// The counts of one topic.
    func stats(topic: String = topics[0]) async throws -> [String: JSONValue] {
        let answer = try await control("GET", "/stats")
        let document = try JSONDecoder().decode([String: JSONValue].self, from: Data(answer.body.utf8))
        guard case .object(let topics)? = document["topics"], case .object(let counts)? = topics[topic] else {
            return [:]
        }
        return counts
    }
}

/// One connection of a provider.
struct Provider: Sendable {
    /// The end of the connection.
    struct End: Sendable {
        /// All that was read.
        let bytes: [UInt8]
        /// The first error, if there was one.
        let error: String?
        /// The peer refused our certificate by an alert, which no dead host does.
        let isCertificateRefused: Bool

        /// The bytes as the gateway's one packet.
        var answer: ErrorResponse? {
            guard bytes.count == ErrorResponse.encodedBytes, bytes[0] == ErrorResponse.command else { return nil }
            let identifier = bytes[2...].reduce(0) { $0 << 8 | UInt32($1) }
            return ErrorResponse(status: APNsStatus(rawValue: bytes[1]), identifier: identifier)
        }
    }

    /// Belongs to the channel's event loop.
    final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let end: EventLoopPromise<End>
        private var bytes: [UInt8] = []
        private var error: String?
        private var isCertificateRefused = false

        init(end: EventLoopPromise<End>) {
            self.end = end
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += unwrapInboundIn(data).readableBytesView
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.error = self.error ?? "\(error)"
            if (error as? TLSError)?.isCertificateRefused == true { isCertificateRefused = true }
        }

        func channelInactive(context: ChannelHandlerContext) {
            end.succeed(End(bytes: bytes, error: error, isCertificateRefused: isCertificateRefused))
        }
    }

    let channel: any Channel
    /// Fulfilled when the connection is closed, by either side.
    let end: EventLoopFuture<End>

    /// Writes and does not care whether it arrives.
    func send(_ bytes: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Has nothing more to say, but listens.
    func closeOutput() {
        // Sent bytes may still wait for the end of the handshake, and closing would drop them.
        channel.writeAndFlush(ByteBuffer()).whenComplete { [channel] _ in channel.close(mode: .output, promise: nil) }
    }
}
