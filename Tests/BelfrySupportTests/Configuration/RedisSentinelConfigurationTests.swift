import Testing

@testable import BelfrySupport

@Suite("Configuration of Redis behind sentinels")
struct RedisSentinelConfigurationTests {
    private func inspect(_ redis: String) throws -> ConfigurationInspection {
        let yaml = "environments: {sandbox: {gateways: localhost}}\nredis: {\(redis)}"
        return try BelfryConfiguration.inspect(yaml: yaml, file: "belfry.yaml", directory: nil, variables: [:])
    }

    @Test("Sentinels are read with the name of their master, and a login of their own beside that of the master")
    func reads() throws {
        let inspection = try inspect(
            "url: 'rediss+sentinel://u:p@a:1,b/news/2', tls: {trust: ca.pem}, sentinel: {user: su, password: sp}"
        )
        #expect(inspection.problems == [])
        let redis = inspection.configuration.redis
        #expect(redis.endpoints.map(\.address) == ["a:1", "b:26379"])
        #expect(redis.endpoint.master == "news" && redis.endpoint.database == 2)
        #expect(redis.endpoint.user == "u" && redis.endpoint.password == "p")
        #expect(redis.sentinel.user == "su" && redis.sentinel.password == "sp")
        #expect(redis.place == "a:1, b:26379 (sentinels of news)")
    }

    @Test("Neither password is shown")
    func shown() throws {
        let inspection = try inspect("url: 'redis+sentinel://u:sesame@a,b/news', sentinel: {password: sesame}")
        let values = Dictionary(uniqueKeysWithValues: inspection.settings.map { ($0.key, $0.value) })
        #expect(
            values["redis.url"]
                == .shown("redis+sentinel://u:***@a:26379/news/0, redis+sentinel://u:***@b:26379/news/0")
        )
        #expect(values["redis.sentinel.password"] == .hidden)
        #expect(values["redis.sentinel.user"] == .shown(nil))
        #expect(try inspect("url: 'redis+sentinel://a/news'").settings.contains { $0.value == .hidden } == false)
    }

    @Test(
        "What is wrong is named with the cure",
        arguments: [
            (
                "url: 'redis+sentinel://a,b'",
                "redis.url: found a URL that is wrong in its name: behind the addresses of sentinels stands /name, "
                    + "as in their \"sentinel monitor name …\": letters, digits, dots, - and _; allowed: "
            ),
            (
                "url: 'redis+sentinel://a,b/news', cluster: true",
                "redis.cluster: found true beside sentinels; allowed: auto or false: sentinels name a single server"
            ),
            (
                "sentinel: {password: p}",
                "redis.sentinel.password: found a login for sentinels; "
                    + "allowed: only with a URL that begins with redis+sentinel:// or rediss+sentinel://"
            ),
            (
                "url: 'redis+sentinel://a/news', sentinel: {user: u}",
                "redis.sentinel.user: found a user without redis.sentinel.password; "
                    + "allowed: both, or a password alone for the default user"
            ),
            (
                "url: 'redis+sentinel://a/news', sentinel: {password: ''}",
                "redis.sentinel.password: found \"\"; allowed: a text that is not empty"
            ),
            (
                "url: 'redis+sentinel://a/news', tls: {trust: ca.pem}",
                "redis.tls.trust: found a setting for TLS; "
                    + "allowed: only with a URL that begins with rediss:// or rediss+sentinel://"
            ),
            (
                "url: 'redis+sentinel://a/news', sentinel: {pasword: p}",
                "redis.sentinel.pasword: found an unknown key; allowed: password"
            ),
        ] as [(String, String)]
    )
    func refuses(redis: String, expected: String) throws {
        let problems = try inspect(redis).problems.map(\.description)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("belfry.yaml:2: " + expected) == true, "\(problems)")
    }

    @Test("Several sentinels are no cluster, with any choice but true")
    func noCluster() throws {
        for choice in ["auto", "false"] {
            #expect(try inspect("url: 'redis+sentinel://a,b/news/3', cluster: \(choice)").problems == [])
        }
    }
}
