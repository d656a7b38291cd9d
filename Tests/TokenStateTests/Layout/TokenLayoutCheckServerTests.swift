import BelfrySupport
import BelfryTools
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Roles that find out where tokens lie, on real servers.
@Suite(.timeLimit(.minutes(1))) struct TokenLayoutCheckServerTests {
    private static let key = "k:tokens"

    private func settings(_ port: Int, user: String? = nil) -> RedisSettings {
        var settings = RedisSettings()
        settings.endpoint = RedisEndpoint(
            host: "127.0.0.1",
            port: port,
            user: user,
            password: user == nil ? nil : "secret"
        )
        return settings
    }

    /// - Parameter bits: of a key that the role makes.
    private func check(
        _ settings: RedisSettings,
        patience: Duration? = nil,
        health: RoleHealth = RoleHealth(),
        lines: LogLines = LogLines(),
        bits: UInt64 = 7
    ) throws -> TokenLayoutCheck {
        try TokenLayoutCheck(
            context(settings, health: health, lines: lines),
            patience: patience,
            interval: .milliseconds(20),
            report: { _ in },
            randomBits: { bits }
        )
    }

    private func context(
        _ settings: RedisSettings,
        health: RoleHealth = RoleHealth(),
        lines: LogLines = LogLines()
    ) -> RoleContext {
        var configuration = BelfryConfiguration()
        configuration.redis = settings
        return RoleContext(configuration, health: health, logger: lines.logger)
    }

    /// The layout that a role is told.
    private func layout(_ check: TokenLayoutCheck) async throws -> TokenLayout {
        var told: TokenLayout?
        try await check.run { told = check.knownLayout }
        return try #require(told)
    }

    @Test("Roles that begin at once on an empty server, and later ones, work by one layout with a key")
    func fresh() async throws {
        let server = try RedisServerProcess()
        let settings = settings(server.port)
        async let first = layout(check(settings, bits: 1))
        async let second = layout(check(settings, bits: 2))
        async let third = layout(check(settings, bits: 3))
        let layouts = try await [first, second, third, layout(check(settings, bits: 4))]
        #expect(Set(layouts.map(\.text)).count == 1)
        #expect(try server.command("GET", Self.key).contains(layouts[0].text))
        #expect(try server.command("TTL", Self.key).contains("-1"))
    }

    @Test("The key of a new installation is the system's randomness")
    func random() async throws {
        var layouts: Set<String> = []
        for _ in 0..<2 {
            let server = try RedisServerProcess()
            let check = try TokenLayoutCheck(context(settings(server.port)), report: { _ in })
            layouts.insert(try await layout(check).text)
        }
        #expect(layouts.count == 2)
    }

    @Test("In a cluster all find the one value, and the tokens of every master count")
    func cluster() async throws {
        let cluster = try RedisClusterProcess()
        var told: Set<String> = []
        for server in cluster.servers.prefix(3) {
            told.insert(try await layout(check(settings(server.port), bits: UInt64(server.port))).text)
        }
        #expect(told.count == 1)
        // Of each tag another master has the tokens.
        for tag in ["00", "7f", "ff"] {
            let cluster = try RedisClusterProcess()
            _ = try cluster.servers[0].command("-c", "HSET", "t3:{a:b:\(tag)}:0", "token", "record")
            await #expect(throws: ToolError.self) { try await layout(check(settings(cluster.servers[0].port))) }
        }
    }

    @Test("Tokens without the key by which they lie, and a value of another version: the role does not begin")
    func refused() async throws {
        let lost = try RedisServerProcess()
        _ = try lost.command("SET", "t3:of-others", "x")
        _ = try lost.command("HSET", "t3:{sandbox:com.example.news:00}:0", "token", "record")
        let later = try RedisServerProcess()
        _ = try later.command("SET", Self.key, "4 something else")
        // A role that knows the key may write it again, so that another start helps; no start helps with the other.
        for (server, status) in [(lost, ExitStatus.failed), (later, .configuration)] {
            var hasBegun = false
            let error = await #expect(throws: ToolError.self) {
                try await check(settings(server.port)).run { hasBegun = true }
            }
            #expect(!hasBegun)
            #expect(error.map { ExitStatus(for: $0) } == status)
        }
        #expect(try !lost.command("GET", Self.key).contains("3"), "nothing was written")
    }

    @Test("A user who may not read the value is told so, and does not begin")
    func forbidden() async throws {
        let server = try RedisServerProcess(arguments: ["--user", "ann", "on", ">secret", "~t3:*", "+@all"])
        let error = await #expect(throws: ToolError.self) {
            try await check(settings(server.port, user: "ann")).run {}
        }
        #expect(error.map { "\($0)" }?.contains("k:tokens") == true)
    }

    @Test("Another value than at the start ends the role, so that it is started again")
    func changed() async throws {
        let server = try RedisServerProcess()
        let health = RoleHealth()
        try await check(settings(server.port), health: health).run {
            _ = try server.command("SET", Self.key, TokenStore.layout.text)
            await health.untilStop()
        }
        let failure = #expect(throws: RoleFailure.self) { try health.check() }
        #expect(failure?.description == "\(TokenLayoutFault.changed)")
    }

    @Test("A server that loses everything gets its value back from a role that runs, and keeps its tokens' places")
    func flushed() async throws {
        let server = try RedisServerProcess()
        let (health, lines) = (RoleHealth(), LogLines())
        let places = try check(settings(server.port), health: health, lines: lines)
        try await places.run {
            _ = try server.command("FLUSHALL")
            await lines.next("Redis lost the token layout; writing it again")
            while try !server.command("GET", Self.key).contains(places.knownLayout.text) {}
        }
        #expect(throws: Never.self) { try health.check() }
        #expect(lines.messages.count == 1)
    }

    @Test("A role that can do without Redis begins without it, and is told where tokens lie when it comes")
    func impatient() async throws {
        let port = try freePort()
        let health = RoleHealth()
        var told: TokenLayout?
        let places = try check(settings(port), patience: .milliseconds(10), health: health)
        try await places.run {
            #expect(places.layout == nil)
            let server = try RedisServerProcess(port: port)
            for await layout in places.late {
                told = layout
                break
            }
            withExtendedLifetime(server) {}
        }
        #expect(told != nil && places.layout == told)
        #expect(throws: Never.self) { try health.check() }
    }
}
