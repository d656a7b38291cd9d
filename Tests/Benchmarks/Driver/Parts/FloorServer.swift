import Foundation
import Glibc
import Workbench

/// nghttpd, which answers every request for one path with an empty 200: the least that a server can do.
struct FloorServer {
    let child: ChildProcess
    let port: UInt16

    private static let startMilliseconds = 10_000

    /// Starts it with one worker thread. Like the sandbox it asks for a certificate.
    ///
    /// - Parameters:
    ///   - path: of the requests, beginning with a slash. It serves files: with one of them it has it open already.
    ///   - streams: that a connection may have open at once.
    init(servers: Servers, pki: URL, path: String, streams: Int) throws {
        port = UInt16(try freePort())
        let documents = servers.workspace.file("documents")
        let file = documents.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data().write(to: file)
        let identity = pki.appendingPathComponent("server.pem").path
        child = try servers.start(
            "nghttpd",
            program: Programs.find("nghttpd"),
            arguments: [
                "--verify-client", "--workers=1", "--max-concurrent-streams=\(streams)",
                "--htdocs=\(documents.path)", "--address=127.0.0.1", "\(port)", identity, identity,
            ]
        )
        let deadline = Sink.now() + UInt64(Self.startMilliseconds) * 1_000_000
        while !HTTPExchange.isListening(port: port) {
            guard child.isRunning, Sink.now() < deadline else { throw BenchmarkError("nghttpd does not listen") }
            poll(nil, 0, 10)
        }
    }
}
