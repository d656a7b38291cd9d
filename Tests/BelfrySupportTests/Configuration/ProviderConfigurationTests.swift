import APNsProtocol
import Testing

@testable import BelfrySupport

/// Settings of environments that speak the provider API over HTTP/2.
@Suite("Configuration of HTTP/2")
struct ProviderConfigurationTests {
    private func load(_ yaml: String, directory: String? = nil) throws(ConfigurationError) -> BelfryConfiguration {
        try BelfryConfiguration.load(yaml: yaml, file: "belfry.yaml", directory: directory, variables: [:])
    }

    @Test("An environment with HTTP/2 has its port, tokens of any length and the payload limits of push types")
    func environment() throws {
        let configuration = try load(
            """
            environments:
              production: {transport: http2, gateways: [api.push.apple.com, "a:2197"]}
              old: {gateways: b}
            apps: {a.b: {payload-limit: 512}}
            """
        )
        let production = try #require(configuration.environment(named: "production"))
        #expect(production.transport == .http2)
        #expect(production.gateways.map(\.description) == ["api.push.apple.com:443", "a:2197"])
        #expect(production.tokenLimitBytes == 100)
        #expect(configuration.topic("a.b", in: production).payload == .byPushType)
        let old = try #require(configuration.environment(named: "old"))
        #expect(old.transport == .binary && old.gateways.map(\.port) == [2195] && old.tokenLimitBytes == 32)
        #expect(configuration.topic("a.b", in: old).payload == .limit(bytes: 512))
    }

    @Test("Without ttl notifications are stored for 30 days, or over HTTP/2 as the service does by itself")
    func storing() throws {
        let configuration = try load(
            "environments: {today: {gateways: a, transport: http2}, yesterday: {gateways: a}}\napps: {a.b: {ttl: 30d}}"
        )
        let month = Duration.seconds(30 * 86_400)
        #expect(configuration.environments.map { configuration.topic("a.c", in: $0).ttl } == [nil, month])
        #expect(configuration.environments.map { configuration.topic("a.b", in: $0).ttl } == [month, month])
    }

    @Test("Channels are managed at the host that is configured, or at Apple's beside Apple's gateway")
    func channels() throws {
        let configuration = try load(
            """
            environments:
              a: {transport: http2, gateways: api.push.apple.com}
              b: {transport: http2, gateways: api.sandbox.push.apple.com}
              c: {transport: http2, gateways: api.push.apple.com, channels: x}
              d: {transport: http2, gateways: y, channels: "x:2197"}
              e: {transport: http2, gateways: y}
            """
        )
        #expect(
            configuration.environments.map { $0.channelsHost?.description } == [
                "api-manage-broadcast.push.apple.com:2196", "api-manage-broadcast.sandbox.push.apple.com:2195",
                "x:2196",
                "x:2197", nil,
            ]
        )
    }

    @Test("A host of channels without HTTP/2 is refused")
    func channelsWithoutHTTP2() {
        #expect(throws: ConfigurationError.self) {
            try load("environments: {sandbox: {gateways: a, channels: b}}")
        }
    }

    @Test("A token limit that is set holds over HTTP/2, too")
    func tokenLimit() throws {
        let yaml = "environments: {sandbox: {transport: http2, gateways: a, token-limit: 64}}"
        #expect(try load(yaml).environments[0].tokenLimitBytes == 64)
    }

    @Test("Keys lie in a directory that counts from the file's; a topic may name team and key")
    func keys() throws {
        let configuration = try load(
            """
            environments: {sandbox: {transport: http2, gateways: a}}
            keys: {directory: keys, team: DEF123GHIJ}
            apps:
              a.b: {key: 1234567890}
              a.c: {team: OTHERTEAM1, key: ABC123DEFG}
              a.d: {team: OTHERTEAM1}
            """,
            directory: "/etc/belfry"
        )
        #expect(configuration.keys.directory == "/etc/belfry/keys" && configuration.keys.team == "DEF123GHIJ")
        #expect(configuration.apps["a.b"]?.key == "1234567890" && configuration.apps["a.b"]?.team == nil)
        #expect(configuration.apps["a.c"]?.key == "ABC123DEFG" && configuration.apps["a.c"]?.team == "OTHERTEAM1")
        #expect(configuration.apps["a.d"]?.team == "OTHERTEAM1" && configuration.apps["a.d"]?.key == nil)
    }

    @Test("The certificates' directory may be missing only if keys are configured and no file names it")
    func optionalCertificates() throws {
        let environments = "environments: {sandbox: {transport: http2, gateways: a}}"
        #expect(try !load(environments).certificates.isOptional)
        #expect(try load("\(environments)\nkeys: {directory: k}").certificates.isOptional)
        let both = "\(environments)\nkeys: {directory: k}\ncertificates: {directory: certificates}"
        #expect(try !load(both).certificates.isOptional)
    }

    @Test("A topic may name a key of the file's team or of its own")
    func teams() throws {
        let own = "keys: {directory: k}\napps: {a.b: {team: T1, key: K1}}"
        let files = "keys: {directory: k, team: T1}\napps: {a.b: {key: K1}}"
        for yaml in [own, files] {
            #expect(try load("environments: {sandbox: {gateways: a}}\n\(yaml)").apps["a.b"]?.key == "K1")
        }
    }
}
