import Foundation
import NIOCore
import TestSupport
import Testing

@testable import TLSTransport

/// The other side is the `openssl` command.
@Suite(.timeLimit(.minutes(2)))
struct ForeignPeerTests {
    let directory = TemporaryDirectory()

    @Test("Our client talks to openssl s_server, with certificates on both sides", arguments: ["-tls1_2", "-tls1_3"])
    func foreignServer(version: String) async throws {
        let pki = try writeDevelopmentPKI(directory: directory.path, topics: ["a.b"])
        let process = try ChildProcess(
            "openssl s_server",
            executable: "/usr/bin/env",
            arguments: [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-naccept", "1", version, "-rev", "-Verify", "1",
                "-verify_return_error", "-CAfile", pki.authorityFile, "-cert", pki.serverFile, "-key", pki.serverFile,
            ],
            // Without input it ends at once.
            takesInput: true
        )
        defer { process.terminate() }
        let port = try Self.port(of: process)

        let seen = try await Loopback(
            client: TLSContext(
                client: TLSIdentity(pemFile: pki.pemFile(bundleID: "a.b")),
                trust: .file(pki.authorityFile)
            ),
            server: .testServer(),
            clientScript: .init(
                onHandshake: { context, me in me.send(Array("live on\n".utf8), context) },
                onBytes: { context, me in if me.receivedBytes == 8 { context.close(promise: nil) } }
            )
        ).connect(port: port)
        #expect(seen.bytes == Array("no evil\n".utf8))
        #expect(seen.errors.isEmpty)
        #expect(seen.handshake?.version == (version == "-tls1_2" ? "TLSv1.2" : "TLSv1.3"))
    }

    @Test("OpenSSL s_client talks to our server, which knows it by its certificate", arguments: ["-tls1_2", "-tls1_3"])
    func foreignClient(version: String) async throws {
        let pki = try writeDevelopmentPKI(directory: directory.path, topics: ["a.b"])
        let ended = Loopback.group.any().makePromise(of: [Seen].self)
        let listener = try await Loopback(
            client: .testClient(),
            server: TLSContext(
                server: TLSIdentity(pemFile: pki.serverFile),
                clientTrust: .file(pki.authorityFile),
                requireClientCertificate: true
            ),
            serverScript: .init(onBytes: { context, me in
                me.send(Array("welcome\n".utf8), context)
                context.close(promise: nil)
            })
        ).listen(ended: ended)
        let port = listener.localAddress?.port ?? 0
        let certificate = pki.pemFile(bundleID: "a.b")
        let client = try ForeignProcess.openssl(
            "s_client",
            "-connect",
            "127.0.0.1:\(port)",
            version,
            "-quiet",
            "-verify_return_error",
            "-verify_hostname",
            "localhost",
            "-CAfile",
            pki.authorityFile,
            "-cert",
            certificate,
            "-key",
            certificate,
            input: "hello\n"
        )
        #expect(String(decoding: client.output, as: UTF8.self) == "welcome\n")
        let seen = try await ended.futureResult.get()
        #expect(seen.bytes == Array("hello\n".utf8))
        #expect(seen.handshake?.peer?.topic == "a.b")
        #expect(seen.errors.isEmpty)
        try await listener.close()
    }

    /// s_server tells it in a line such as `ACCEPT 127.0.0.1:40123`.
    private static func port(of server: ChildProcess) throws -> Int {
        while true {
            let line = try server.nextLine(within: .seconds(60))
            guard line.hasPrefix("ACCEPT ") else { continue }
            return try #require(line.split(separator: ":").last.flatMap { Int($0) })
        }
    }
}
