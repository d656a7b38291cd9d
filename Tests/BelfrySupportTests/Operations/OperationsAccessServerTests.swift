import Foundation
import HTTPPorts
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import BelfrySupport

/// Token and TLS of the operations endpoint, asked by a foreign client.
@Suite(.timeLimit(.minutes(1)))
struct OperationsAccessServerTests {
    /// The answer of curl: the status and how to be let in, or its exit code.
    private func curl(_ url: String, _ options: [String] = []) async throws -> String {
        let format = "%{http_code} %header{www-authenticate}"
        let arguments = ["curl", "--silent", "--output", "/dev/null", "--write-out", format] + options + [url]
        let child = try ChildProcess("curl", executable: "/usr/bin/env", arguments: arguments)
        return await Task.detached {
            let output = child.outputToEnd()
            let code = child.wait()
            return code == 0 ? output.trimmed : "curl ends with \(code)"
        }.value
    }

    private func connect(to address: String) async throws -> any Channel {
        let port = try #require(HostPort(address)).port
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        return try await bootstrap.connect(host: "127.0.0.1", port: port).get()
    }

    private func bearer(_ token: String) -> [String] { ["--header", "Authorization: Bearer \(token)"] }

    @Test("Metrics and status want the token, probes never do, and another token counts once it is in the file")
    func token() async throws {
        let files = try SecretFiles()
        let path = try files.write("token", SecretFiles.token)
        try await RunningEndpoint.run(settings: files.settings(token: path)) { address in
            for page in ["metrics", "status"] {
                let url = "http://\(address)/\(page)"
                #expect(try await curl(url) == "401 Bearer")
                #expect(try await curl(url, bearer("wrong-token-0123456789")) == "401 Bearer")
                #expect(try await curl(url, ["--user", "me:\(SecretFiles.token)"]) == "401 Bearer")
                #expect(try await curl(url, bearer(SecretFiles.token)) == "200")
            }
            #expect(try await curl("http://\(address)/livez") == "200")
            #expect(try await curl("http://\(address)/readyz") == "503", "as its source says")
            #expect(try await curl("http://\(address)/nothing") == "404")
            try files.write("token", "second-token-0123456789")
            #expect(try await curl("http://\(address)/metrics", bearer(SecretFiles.token)) == "401 Bearer")
            #expect(try await curl("http://\(address)/metrics", bearer("second-token-0123456789")) == "200")
        }
    }

    @Test("With a certificate the port speaks TLS, and a new certificate serves the connections to come")
    func certificate() async throws {
        let files = try SecretFiles()
        let path = try files.writeCertificate("port.pem")
        let token = try files.write("token", SecretFiles.token)
        try await RunningEndpoint.run(settings: files.settings(token: token, certificate: path)) { address in
            let roots = ["--cacert", files.directory + "/ca.pem"]
            let url = "https://\(address)"
            for version in ["--tlsv1.3", "--tls-max=1.2"] {
                let options = version.split(separator: "=").map(String.init)
                let answer = try await curl("\(url)/metrics", roots + bearer(SecretFiles.token) + options)
                #expect(answer == "200", "\(version)")
            }
            #expect(try await curl("\(url)/metrics", roots) == "401 Bearer")
            #expect(try await curl("\(url)/livez", roots) == "200")
            #expect(try await curl("\(url)/livez") == "curl ends with 60", "no known authority vouches for it")
            // Another authority, beside another certificate.
            _ = try files.writeCertificate("port.pem")
            #expect(try await curl("\(url)/livez", roots) == "200")
        }
    }

    @Test("Plain HTTP on a port with TLS is answered with 400, and TLS goes on; garbage does no harm either")
    func plain() async throws {
        let files = try SecretFiles()
        let path = try files.writeCertificate("port.pem")
        try await RunningEndpoint.run(settings: files.settings(certificate: path)) { address in
            let roots = ["--cacert", files.directory + "/ca.pem"]
            #expect(try await curl("http://\(address)/livez") == "400")
            let body = String(repeating: "x", count: 1 << 20)
            let file = try files.write("body", body)
            #expect(try await curl("http://\(address)/livez", ["--data-binary", "@\(file)"]).hasPrefix("400"))
            // A record of TLS's type with nothing of TLS in it.
            let channel = try await connect(to: address)
            try await channel.writeAndFlush(ByteBuffer(string: "\u{16}garbage that is long enough for a record")).get()
            try await channel.closeFuture.get()
            #expect(try await curl("https://\(address)/livez", roots) == "200")
        }
    }

    @Test("A head beyond the limit is answered with 431 over TLS, too")
    func flood() async throws {
        let files = try SecretFiles()
        let path = try files.writeCertificate("port.pem")
        try await RunningEndpoint.run(settings: files.settings(certificate: path)) { address in
            let field = ["--header", "x: " + String(repeating: "a", count: 9000)]
            let roots = ["--cacert", files.directory + "/ca.pem"]
            let answer = try await curl("https://\(address)/metrics", roots + field)
            #expect(answer == "431")
        }
    }

    @Test("Of more connections over TLS than the port takes the quietest one goes, even before its handshake")
    func number() async throws {
        let files = try SecretFiles()
        let path = try files.writeCertificate("port.pem")
        try await RunningEndpoint.run(settings: files.settings(certificate: path)) { address in
            var silent: [any Channel] = []
            for _ in 0..<PortLimits.operations.connections { silent.append(try await connect(to: address)) }
            #expect(try await curl("https://\(address)/livez", ["--cacert", files.directory + "/ca.pem"]) == "200")
            let ends = silent.map(\.closeFuture)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for end in ends { group.addTask { try await end.get() } }
                try await group.next()
                for channel in silent { channel.close(promise: nil) }
                try await group.waitForAll()
            }
        }
    }
}
