import Foundation
import NIOCore
import NIOPosix
import TLSTransport
import TestSupport
import Testing

/// The other side is a program of nghttp2: its framing is the same library's, its use of it is not ours.
@Suite(.timeLimit(.minutes(2)))
struct ForeignPeerServerTests {
    private static let group = MultiThreadedEventLoopGroup.singleton

    @Test("h2load gets an answer to each of its requests, over TLS with ALPN")
    func h2load() async throws {
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pki = try writeDevelopmentPKI(directory: directory, topics: [])
        let tls = try TLSContext(
            server: TLSIdentity(pemFile: pki.serverFile),
            clientTrust: nil,
            requireClientCertificate: false,
            protocols: ["h2"]
        )
        let listener = try await ServerBootstrap(group: Self.group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        TLSHandler(context: tls, serverName: nil),
                        ServerShell()
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let body = directory + "/body"
        try Data(repeating: UInt8(ascii: "x"), count: 110).write(to: URL(fileURLWithPath: body))
        let client = try ChildProcess(
            "h2load",
            executable: "/usr/bin/env",
            arguments: [
                "h2load", "--requests=5000", "--clients=2", "--max-concurrent-streams=100", "--threads=1",
                "--data=\(body)", "https://127.0.0.1:\(port)/3/device/00",
            ],
            joinsErrors: true
        )
        let output = client.outputToEnd()
        #expect(client.wait() == 0)
        #expect(output.contains("Application protocol: h2"), "\(output)")
        #expect(output.contains("5000 done, 5000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(output)")
        #expect(output.contains("status codes: 5000 2xx"), "\(output)")
        try await listener.close()
    }

    @Test("A server that is not ours, nghttpd, answers all our requests, and never sees more streams than it allows")
    func nghttpd() async throws {
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pki = try writeDevelopmentPKI(directory: directory, topics: [])
        let port = try freePort()
        let server = try ChildProcess(
            "nghttpd",
            executable: "/usr/bin/env",
            arguments: [
                "nghttpd", "--verbose", "--echo-upload", "--max-concurrent-streams=10", "--address=127.0.0.1",
                "\(port)", pki.serverFile, pki.serverFile,
            ]
        )
        defer { server.kill() }
        while try !server.nextLine(within: .seconds(60)).contains("listen") {}

        let tls = try TLSContext(client: nil, trust: .file(pki.authorityFile), protocols: ["h2"])
        let done = Self.group.any().makePromise(of: ClientShell.Result.self)
        let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: 110)
        do {
            let channel = try await ClientBootstrap(group: Self.group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            TLSHandler(context: tls, serverName: "localhost"),
                            ClientShell(count: 300, body: body, done: done)
                        )
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
            let result = try await done.futureResult.get()
            #expect(result.applicationProtocol == "h2")
            #expect(result.statuses == Dictionary(uniqueKeysWithValues: (UInt64(0)..<300).map { ($0, 200) }))
            #expect(result.bodies == [String(buffer: body)])
            #expect(result.largestNumberOfStreams == 10)
            try await channel.close()
        } catch {
            // Only the first of both errors is told; the promise must not stay behind.
            done.fail(error)
            throw error
        }
    }

    private static func makeDirectory() throws -> String {
        let path = NSTemporaryDirectory() + "belfry-http2-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}
