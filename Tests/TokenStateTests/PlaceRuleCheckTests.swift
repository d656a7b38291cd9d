import BelfrySupport
import BelfryTools
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Roles that find out where tokens lie, on real servers.
@Suite(.timeLimit(.minutes(1))) struct PlaceRuleCheckTests {
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
    ) throws -> PlaceRuleCheck {
        try PlaceRuleCheck(
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

    /// The rule that a role is told.
    private func rule(_ check: PlaceRuleCheck) async throws -> PlaceRule {
        var told: PlaceRule?
        try await check.run { told = check.knownRule }
        return try #require(told)
    }

    @Test("Roles that begin at once on an empty server, and later ones, work by one rule with a key")
    func fresh() async throws {
        let server = try RedisServerProcess()
        let settings = settings(server.port)
        async let first = rule(check(settings, bits: 1))
        async let second = rule(check(settings, bits: 2))
        async let third = rule(check(settings, bits: 3))
        let rules = try await [first, second, third, rule(check(settings, bits: 4))]
        #expect(Set(rules.map(\.text)).count == 1)
        #expect(rules[0].layout == .keyed)
        #expect(try server.command("GET", Self.key).contains(rules[0].text))
        #expect(try server.command("TTL", Self.key).contains("-1"))
    }

    @Test("The key of a new installation is the system's randomness")
    func random() async throws {
        var rules: Set<String> = []
        for _ in 0..<2 {
            let server = try RedisServerProcess()
            let check = try PlaceRuleCheck(context(settings(server.port)), report: { _ in })
            rules.insert(try await rule(check).text)
        }
        #expect(rules.count == 2)
    }

    @Test("An installation that has tokens and no rule goes on with layout 2, and is told what that means")
    func older() async throws {
        let server = try RedisServerProcess()
        _ = try server.command("HSET", "t2:{sandbox:com.example.news:00}:0", "token", "record")
        _ = try server.command("SET", "t2:of-others", "x")
        let lines = LogLines()
        #expect(try await rule(check(settings(server.port), lines: lines)) == .unkeyed)
        #expect(lines.messages == ["places of tokens have no secret key: crafted tokens can pile up in one bucket"])
        #expect(try server.command("GET", Self.key).contains("2"))
    }

    @Test("In a cluster the tokens of every master count, and all find the one value")
    func cluster() async throws {
        for hasTokens in [false, true] {
            let cluster = try RedisClusterProcess()
            // Tags all over the slots, so that it is not the first master that has them.
            for tag in hasTokens ? ["00", "7f", "ff"] : [] {
                _ = try cluster.servers[0].command("-c", "HSET", "t2:{a:b:\(tag)}:0", "token", "record")
            }
            var told: Set<String> = []
            for server in cluster.servers.prefix(3) {
                told.insert(try await rule(check(settings(server.port), bits: UInt64(server.port))).text)
            }
            #expect(told.count == 1 && told.contains("2") == hasTokens)
        }
    }

    @Test("Tokens that only a key finds, without the key, and a value of a later version: the role does not begin")
    func refused() async throws {
        let lost = try RedisServerProcess()
        _ = try lost.command("HSET", "t3:{sandbox:com.example.news:00}:0", "token", "record")
        let later = try RedisServerProcess()
        _ = try later.command("SET", Self.key, "4 something else")
        // Somebody who knows the key may write it again, so that another start helps; nothing helps the other.
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
        let server = try RedisServerProcess(arguments: ["--user", "ann", "on", ">secret", "~t2:*", "+@all"])
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
            _ = try server.command("SET", Self.key, TokenStore.rule.text)
            await health.untilStop()
        }
        let failure = #expect(throws: RoleFailure.self) { try health.check() }
        #expect(failure?.description == "\(PlaceRuleFault.changed)")
    }

    @Test("A server that loses everything gets its value back from a role that runs, and keeps its tokens' places")
    func flushed() async throws {
        let server = try RedisServerProcess()
        let (health, lines) = (RoleHealth(), LogLines())
        let places = try check(settings(server.port), health: health, lines: lines)
        try await places.run {
            _ = try server.command("FLUSHALL")
            await lines.next("Redis lost the rule of token places; writing it again")
            while try !server.command("GET", Self.key).contains(places.knownRule.text) {}
        }
        #expect(throws: Never.self) { try health.check() }
        #expect(lines.messages.count == 1)
    }

    @Test("A role that can do without Redis begins without it, and is told where tokens lie when it comes")
    func impatient() async throws {
        let port = try freePort()
        let health = RoleHealth()
        var told: PlaceRule?
        let places = try check(settings(port), patience: .milliseconds(10), health: health)
        try await places.run {
            #expect(places.rule == nil)
            let server = try RedisServerProcess(port: port)
            for await rule in places.late {
                told = rule
                break
            }
            withExtendedLifetime(server) {}
        }
        #expect(told?.layout == .keyed && places.rule == told)
        #expect(throws: Never.self) { try health.check() }
    }
}
