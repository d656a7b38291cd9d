import Testing

@testable import BelfrySupport
@testable import LocalPipeline

/// The configuration that demo, chaos and integration tests write for the roles.
struct PipelineConfigurationTests {
    private static func load(_ transport: PipelineTransport) throws -> BelfryConfiguration {
        var options = LocalPipeline.Options()
        options.transport = transport
        let configuration = PipelineConfiguration(
            options: options,
            brokers: "127.0.0.1:9092",
            redisURL: "redis://127.0.0.1:6379",
            gateway: "127.0.0.1:2197",
            feedback: "127.0.0.1:2196",
            api: "127.0.0.1:2198"
        )
        return try BelfryConfiguration.load(
            yaml: configuration.text,
            file: "belfry.yaml",
            directory: "/dir",
            variables: [:]
        )
    }

    @Test("Over HTTP/2 every other topic uses the key of one team, the first among them, and the rest certificates")
    func http2() throws {
        let configuration = try Self.load(.http2)
        let environment = try #require(configuration.environments.first)
        #expect(environment.transport == .http2)
        #expect(environment.gateways.map(\.description) == ["127.0.0.1:2197"])
        #expect(environment.channels?.description == "127.0.0.1:2198")
        #expect(configuration.certificates.directory == "/dir/pki")
        #expect(configuration.keys.directory == "/dir/pki/keys")
        #expect(configuration.keys.team == PipelineTransport.team)
        let teams = configuration.apps.mapValues(\.team)
        #expect(teams == ["com.example.news": "BELFRYTEAM", "com.example.weather": "BELFRYTEAM"])
    }

    @Test("By default the binary interface is spoken, and there are no keys")
    func binary() throws {
        #expect(LocalPipeline.Options().transport == .binary)
        let configuration = try Self.load(.binary)
        #expect(configuration.environments.map(\.transport) == [.binary])
        #expect(configuration.environments.first?.channels == nil)
        #expect(configuration.keys.directory == nil && configuration.apps.isEmpty)
    }

    @Test("A topic alone uses the key; there is one with a certificate as soon as there are two")
    func shares() {
        #expect(PipelineTransport.http2.topicsWithKey(of: ["a"]) == ["a"])
        #expect(PipelineTransport.http2.topicsWithKey(of: ["a", "b"]) == ["a"])
        #expect(PipelineTransport.http2.topicsWithKey(of: ["a", "b", "c"]) == ["a", "c"])
        #expect(PipelineTransport.binary.topicsWithKey(of: ["a"]).isEmpty)
    }
}
