import BelfrySupport
import BelfryTools
import Foundation
import NIOCore
import NIOPosix
import ProviderCredentials
import RedisClient
import TLSTransport
import TestSupport
import Testing
import TokenState

@testable import PipelineTestSupport

/// Effects of the settings on a server: TLS, log-in, database.
@Suite struct RedisServersServerTests {
    /// Runs with a development PKI; its client certificate is for `com.example`.
    private func withPKI(_ body: (DevelopmentPKI) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-redis-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(try writeDevelopmentPKI(directory: directory.path, topics: ["com.example"]))
    }

    /// A server that is to be had over TLS only, and asks for a certificate.
    private func server(_ pki: DevelopmentPKI) throws -> (RedisServerProcess, port: Int) {
        let port = try freePort()
        let server = try RedisServerProcess(arguments: [
            "--tls-port", "\(port)", "--tls-cert-file", pki.serverFile, "--tls-key-file", pki.serverFile,
            "--tls-ca-cert-file", pki.authorityFile, "--tls-auth-clients", "yes",
            "--user", "ann", "on", ">secret", "~t2:*", "+@all",
        ])
        return (server, port)
    }

    private func settings(_ url: String, _ pki: DevelopmentPKI) throws -> RedisSettings {
        var settings = RedisSettings()
        settings.endpoints = try RedisEndpoint.list(urls: url)
        settings.tls.trustFile = pki.authorityFile
        settings.tls.certificateFile = pki.pemFile(bundleID: "com.example")
        return settings
    }

    /// The answer to SET of `key`, or why there is no connection.
    private func set(_ key: String, _ settings: RedisSettings) async throws -> String {
        let configuration = try settings.servers(name: "test")
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return try await eventLoop.flatSubmit {
            let promise = eventLoop.makePromise(of: String.self)
            let redis = RedisCluster(configuration: configuration, eventLoop: eventLoop)
            let answer = NIOLoopBoundBox<String?>(nil, eventLoop: eventLoop)
            let finish = { (text: String) in
                guard answer.value == nil else { return }
                answer.value = text
                // Not from within one of its callbacks.
                eventLoop.assumeIsolated().execute {
                    redis.close()
                    promise.succeed(text)
                }
            }
            redis.onStateChange = { if case .disconnected(let cause) = $0 { finish(cause.reason) } }
            redis.start()
            redis.send(slot: RedisSlot(key: key)) { writer in
                writer.command("SET", argumentCount: 2)
                writer.argument(key)
                writer.argument("x")
            } _: { result in
                switch result {
                case .success(let reply): finish(reply.string ?? "")
                case .failure(let error): finish("\(error)")
                }
            }
            return promise.futureResult
        }.get()
    }

    @Test("A client connects over TLS with a certificate, as a user of the access list, to a database")
    func everything() async throws {
        try await withPKI { pki in
            let (server, port) = try server(pki)
            let settings = try settings("rediss://ann:secret@127.0.0.1:\(port)/3", pki)
            #expect(try await set("t2:a", settings) == "OK")
            #expect(try server.command("-n", "3", "GET", "t2:a").contains("x"))
            // The list holds.
            #expect(try await set("other", settings).contains("NOPERM"))
        }
    }

    @Test(
        "Without a certificate, or with one that is not trusted, or with a wrong password, there is no connection"
    )
    func refused() async throws {
        try await withPKI { pki in
            let (server, port) = try server(pki)
            var none = try settings("rediss://ann:secret@127.0.0.1:\(port)", pki)
            none.tls.certificateFile = nil
            #expect(try await set("t2:a", none) != "OK")
            try await withPKI { other in
                var foreign = try settings("rediss://ann:secret@127.0.0.1:\(port)", pki)
                foreign.tls.certificateFile = other.pemFile(bundleID: "com.example")
                #expect(try await set("t2:a", foreign) != "OK")
                // Nor is a server trusted that another authority vouches for.
                var distrustful = try settings("rediss://ann:secret@127.0.0.1:\(port)", pki)
                distrustful.tls.trustFile = other.authorityFile
                #expect(try await set("t2:a", distrustful) != "OK")
            }
            let wrong = try settings("rediss://ann:hunter2@127.0.0.1:\(port)", pki)
            #expect(try await set("t2:a", wrong).contains("WRONGPASS"))
            var misnamed = try settings("rediss://ann:secret@127.0.0.1:\(port)", pki)
            misnamed.tls.serverName = "redis.example.com"
            #expect(try await set("t2:a", misnamed) != "OK")
            misnamed.tls.serverName = "localhost"
            #expect(try await set("t2:a", misnamed) == "OK")
            withExtendedLifetime(server) {}
        }
    }

    @Test("Over TLS, sentinels with a login of their own name the master, which has another one")
    func sentinels() async throws {
        try await withPKI { pki in
            let tls = RedisTLSFiles(
                authority: pki.authorityFile,
                server: pki.serverFile,
                client: pki.pemFile(bundleID: "com.example")
            )
            let servers = try RedisSentinelProcesses(
                arguments: ["--user", "ann", "on", ">secret", "~t2:*", "+@all"],
                password: "watch",
                tls: tls
            )
            let addresses = servers.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
            let url = "rediss+sentinel://ann:secret@\(addresses)/\(RedisSentinelProcesses.master)/3"
            var settings = try settings(url, pki)
            #expect(try await set("t2:a", settings).contains("NOAUTH"))
            settings.sentinel.password = "watch"
            #expect(try await set("t2:a", settings) == "OK")
            #expect(try servers.first.command("-n", "3", "GET", "t2:a").contains("x"))
            let inspector = try TokenInspector(settings)
            defer { inspector.close() }
            #expect(inspector.servers.contains("(sentinels of \(RedisSentinelProcesses.master))"))
            #expect(try inspector.countMasters() == 1)
        }
    }

    @Test("A certificate and its key may lie in files of their own; what is missing is named")
    func files() async throws {
        try await withPKI { pki in
            let pem = try String(contentsOfFile: pki.pemFile(bundleID: "com.example"), encoding: .utf8)
            let start = try #require(pem.range(of: "-----BEGIN PRIVATE KEY-----"))
            let end = try #require(pem.range(of: "-----END PRIVATE KEY-----"))
            let key = "\(pki.directory)/key"
            let certificate = "\(pki.directory)/certificate"
            try Data(pem[start.lowerBound..<end.upperBound].utf8).write(to: URL(filePath: key))
            try Data(pem.replacingCharacters(in: start.lowerBound..<end.upperBound, with: "").utf8)
                .write(to: URL(filePath: certificate))
            let (server, port) = try server(pki)
            var settings = try settings("rediss://ann:secret@127.0.0.1:\(port)", pki)
            settings.tls.certificateFile = certificate
            settings.tls.keyFile = key
            #expect(try await set("t2:a", settings) == "OK")
            settings.tls.keyFile = "\(pki.directory)/nowhere"
            let error = #expect(throws: CertificateDirectoryError.self) { _ = try settings.servers(name: "test") }
            #expect(error?.file == settings.tls.keyFile)
            withExtendedLifetime(server) {}
        }
    }

    // MARK: Durability

    /// Messages that are logged of a server until `role` ends. The role begins after the first look only if the policy
    /// is `refuse`.
    private func check(
        _ arguments: [String],
        _ policy: RedisDurabilityPolicy = .refuse,
        role: (RedisServerProcess, LogLines) async throws -> Void = { _, _ in }
    ) async throws -> [String] {
        let server = try RedisServerProcess(arguments: arguments)
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port)
        settings.durability = policy
        let lines = LogLines()
        try await RedisDurabilityCheck(settings, logger: lines.logger).run { try await role(server, lines) }
        return lines.messages
    }

    @Test("A server with an append-only file that evicts nothing is fine, with either policy")
    func durable() async throws {
        for policy in RedisDurabilityPolicy.allCases {
            let good = ["--appendonly", "yes", "--maxmemory-policy", "noeviction"]
            let lines = try await check(good, policy) { server, _ in
                // The role and three sections, and again on the next connection: what was to be said of the first look
                // has been by then.
                try asked(server, times: 4)
                let name = try await checked(server)
                _ = try server.command("CONFIG", "RESETSTAT")
                _ = try server.command("CLIENT", "KILL", "ID", name)
                try asked(server, times: 4)
            }
            #expect(lines.isEmpty)
        }
    }

    @Test("One that keeps nothing, or evicts, is warned of, or refused as wrong configuration that names the setting")
    func volatile() async throws {
        for (arguments, setting) in [
            ([], "appendonly is no, and must be yes"),
            (["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"], "allkeys-lru, and must be noeviction"),
            (["--appendonly", "yes", "--appendfsync", "no"], "appendfsync is no, and must be everysec or always"),
        ] as [([String], String)] {
            let lines = try await check(arguments, .warn) { await $1.next(Self.warning) }
            #expect(lines == [Self.warning])
            do {
                _ = try await check(arguments) { _, _ in Issue.record("the role began") }
                Issue.record("it was not refused")
            } catch {
                #expect("\(error)".contains(setting) && "\(error)".contains("127.0.0.1:"))
                #expect(ExitStatus(for: error) == .configuration)
            }
        }
    }

    @Test("One that does not tell is warned of, and not refused")
    func silent() async throws {
        let lines = try await check(["--rename-command", "INFO", "hidden"])
        #expect(lines == ["it could not be checked whether Redis keeps what it acknowledges"])
    }

    @Test("One whose user may not ask for settings is judged by what INFO tells; what could not be asked is told")
    func withoutCONFIG() async throws {
        let server = try RedisServerProcess(arguments: [
            "--appendonly", "yes", "--user", "ann", "on", ">secret", "~*", "+@all", "-config",
        ])
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port, user: "ann", password: "secret")
        let lines = LogLines()
        var logger = lines.logger
        logger.logLevel = .notice
        var hasBegun = false
        try await RedisDurabilityCheck(settings, logger: logger).run { hasBegun = true }
        #expect(hasBegun)
        #expect(lines.levels(of: "it could not be checked whether Redis keeps what it acknowledges") == [.notice])
    }

    @Test("A role that can do without Redis begins without it, though it is to refuse one that loses things")
    func impatient() async throws {
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: try freePort())
        #expect(settings.durability == .refuse)
        var hasBegun = false
        try await RedisDurabilityCheck(settings, patience: .milliseconds(10), logger: LogLines().logger).run {
            hasBegun = true
        }
        #expect(hasBegun)
    }

    private static let warning = "Redis may lose what it has acknowledged"

    @Test("A server that comes back set up worse is warned of, and ends no role in mid-run, with either policy")
    func comesBack() async throws {
        for policy in RedisDurabilityPolicy.allCases {
            let server = try RedisServerProcess(arguments: ["--appendonly", "yes", "--maxmemory-policy", "noeviction"])
            var settings = RedisSettings()
            settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port)
            settings.durability = policy
            let lines = LogLines()
            try await RedisDurabilityCheck(settings, logger: lines.logger).run {
                try await checked(server)
                #expect(lines.messages.isEmpty)
                server.kill()
                let next = try RedisServerProcess(port: server.port)
                await lines.next(Self.warning)
                withExtendedLifetime(next) {}
            }
            #expect(lines.messages == [Self.warning])
        }
    }

    @Test("A server is warned of once for each history of its data, however often its connection is lost")
    func onceForEach() async throws {
        let server = try RedisServerProcess()
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port)
        settings.durability = .warn
        let lines = LogLines()
        try await RedisDurabilityCheck(settings, logger: lines.logger).run {
            await lines.next(Self.warning)
            let name = try await checked(server)
            _ = try server.command("CLIENT", "KILL", "ID", name)
            // The role and three sections at the start, the same on the next connection.
            try asked(server, times: 8)
            server.kill()
            let next = try RedisServerProcess(port: server.port)
            await lines.next(Self.warning)
            withExtendedLifetime(next) {}
        }
        #expect(lines.messages == [Self.warning, Self.warning])
    }

    /// Returns when the check has begun to ask the server; the number of its connection.
    @discardableResult
    private func checked(_ server: RedisServerProcess) async throws -> String {
        while true {
            for line in try server.command("CLIENT", "LIST").split(separator: "\n") {
                guard line.contains(" name=belfry-check "), line.contains(" cmd=info ") else { continue }
                return String(line.split(separator: " ").first { $0.hasPrefix("id=") }?.dropFirst(3) ?? "")
            }
        }
    }

    /// Returns when the server has answered INFO so often, the questions of this one apart.
    private func asked(_ server: RedisServerProcess, times: Int) throws {
        var own = 0
        while true {
            let line = try server.command("INFO", "commandstats").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix("cmdstat_info:calls=") }
            let calls = line?.dropFirst(19).prefix { $0.isNumber } ?? ""
            // Each is counted when it has been answered.
            if (Int(calls) ?? 0) - own >= times { return }
            own += 1
        }
    }

    @Test("The check ends with the role that it was made beside, however long Redis is away")
    func cancelled() async throws {
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(host: "127.0.0.1", port: try freePort())
        settings.durability = .warn
        try await RedisDurabilityCheck(settings, logger: LogLines().logger).run {}
    }
}
