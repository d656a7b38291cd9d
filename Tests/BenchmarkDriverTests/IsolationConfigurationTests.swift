import LocalPipeline
import Testing

@testable import BelfrySupport
@testable import belfry_bench

@Suite("The workers' configuration in the isolation benchmark")
struct IsolationConfigurationTests {
    private func load(
        _ transport: PipelineTransport,
        shares: Bool = false,
        hasCredential: Bool = true
    ) throws -> BelfryConfiguration {
        let configuration = IsolationConfiguration(
            transport: transport,
            sharesEnvironment: shares,
            hasCredential: hasCredential,
            sessionSeconds: 4,
            shards: 1,
            queue: 2000,
            worker: ", request-timeout: 2s"
        )
        let text = configuration.text(brokers: "127.0.0.1:9092", redisPort: 6379, healthyGateway: 1, sickGateway: 2)
        return try BelfryConfiguration.load(yaml: text, file: "belfry.yaml", directory: "/dir", variables: [:])
    }

    private func gateways(_ configuration: BelfryConfiguration) -> [String: [String]] {
        Dictionary(uniqueKeysWithValues: configuration.environments.map { ($0.name, $0.gateways.map(\.description)) })
    }

    @Test("Over the binary interface each topic has an environment and a certificate of its own")
    func binary() throws {
        let configuration = try load(.binary)
        #expect(gateways(configuration) == ["healthy": ["127.0.0.1:1"], "sick": ["127.0.0.1:2"]])
        #expect(configuration.environments.allSatisfy { $0.transport == .binary })
        #expect(configuration.keys.directory == nil && configuration.apps.isEmpty)
        #expect(configuration.worker.maxUncommitted == 2000 && configuration.worker.requestTimeout == .seconds(2))
    }

    @Test("Over HTTP/2 both topics use the key of one team, in one environment or in two")
    func http2() throws {
        let apart = try load(.http2)
        #expect(gateways(apart) == ["healthy": ["127.0.0.1:1"], "sick": ["127.0.0.1:2"]])
        let together = try load(.http2, shares: true)
        #expect(gateways(together) == ["healthy": ["127.0.0.1:1"]])
        for configuration in [apart, together] {
            #expect(configuration.environments.allSatisfy { $0.transport == .http2 })
            #expect(configuration.keys.directory == "/dir/pki/keys")
            let teams = configuration.apps.mapValues(\.team)
            let team = try #require(configuration.keys.team)
            #expect(teams == [IsolationConfiguration.healthy: team, IsolationConfiguration.sick: team])
        }
    }

    @Test("An app without a credential names a key that is not there, and no team")
    func missing() throws {
        let app = try load(.http2, shares: true, hasCredential: false).apps[IsolationConfiguration.sick]
        #expect(app?.key == "NOSUCHKEY" && app?.team == nil)
    }

    @Test("Topics share connections unless the gateway is the trouble, and over the binary interface never")
    func sharing() {
        for sickness in Sickness.allCases {
            let hasOwnGateway = [.unreachable, .halfDead, .slow].contains(sickness)
            #expect(sickness.sharesConnections(over: .http2) == !hasOwnGateway)
            #expect(!sickness.sharesConnections(over: .binary))
            // A shared gateway works for the healthy topic.
            let manner = sickness.manner(rate: 20_000, over: .http2)
            #expect((manner == .works) == !hasOwnGateway)
        }
    }
}
