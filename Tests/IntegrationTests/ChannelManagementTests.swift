import BelfrySupport
import BelfryTools
import Foundation
import Logging
import Sandbox
import Testing

extension IntegrationTests {
    /// `belfry channels` against the sandbox, in one process.
    struct ChannelManagementTests {
        private static let news = "com.example.news"

        /// Runs a sandbox and hands over the configuration of a worker for it.
        private func run(
            _ body: (_ configuration: BelfryConfiguration, _ environment: EnvironmentSettings) async throws -> Void,
            configure: (inout BelfryConfiguration, _ pki: String) -> Void
        ) async throws {
            let pki = NSTemporaryDirectory() + "belfry-channels-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: pki) }
            try Sandbox.writeCertificates(directory: pki, topics: [Self.news])
            var sandbox = SandboxConfiguration(pkiDirectory: pki, topics: [Self.news], devices: 10)
            sandbox.gatewayPort = 0
            sandbox.feedbackPort = 0
            sandbox.controlPort = 0
            sandbox.devicePort = 0
            sandbox.apiPort = 0
            sandbox.channelsPort = 0
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await SandboxServer.start(sandbox, logger: logger)
            let result: Result<Void, any Error>
            do {
                let api = HostPort(host: "127.0.0.1", port: server.ports.api)
                var environment = EnvironmentSettings(name: "sandbox", gateways: [api], transport: .http2)
                environment.channels = HostPort(host: "127.0.0.1", port: try #require(server.ports.channels))
                environment.trustFile = pki + "/ca.pem"
                var configuration = BelfryConfiguration()
                configuration.environments = [environment]
                configure(&configuration, pki)
                result = .success(try await body(configuration, environment))
            } catch {
                result = .failure(error)
            }
            try await server.stop()
            try result.get()
        }

        @Test(
            "Channels are created, listed and deleted, with a certificate and with a provider key",
            arguments: [true, false]
        )
        func life(byCertificate: Bool) async throws {
            try await run { configuration, environment in
                func carryOut(_ order: ChannelOrder) async throws -> [String] {
                    try await ChannelManagement.carryOut(
                        order,
                        bundleID: Self.news,
                        environment: environment,
                        configuration
                    ).channels
                }
                let first = try await carryOut(.create(storesMessages: false))
                let second = try await carryOut(.create(storesMessages: true))
                #expect(first.count == 1 && first != second)
                #expect(try await carryOut(.list) == (first + second).sorted())
                #expect(try await carryOut(.delete(channel: first[0])) == first)
                #expect(try await carryOut(.list) == second)
                await #expect(throws: ToolError.notFound("the service answered 400 ChannelNotRegistered")) {
                    try await carryOut(.delete(channel: first[0]))
                }
            } configure: { configuration, pki in
                configuration.certificates.directory = byCertificate ? pki : pki + "/none"
                configuration.certificates.isOptional = true
                configuration.keys.directory = pki + "/keys"
                configuration.keys.team = Sandbox.defaultTeam
            }
        }

        @Test("Without a credential, a host or HTTP/2 nothing is sent, and it is said what is missing")
        func missing() async throws {
            try await run { configuration, environment in
                func list(_ bundleID: String, _ environment: EnvironmentSettings) async throws {
                    _ = try await ChannelManagement.carryOut(
                        .list,
                        bundleID: bundleID,
                        environment: environment,
                        configuration
                    )
                }
                let other = "com.example.other"
                await #expect(
                    throws: ToolError.notFound("\(other) has neither a certificate nor a provider key in sandbox")
                ) { try await list(other, environment) }
                var homeless = environment
                homeless.channels = nil
                await #expect(
                    throws: ToolError.configuration(
                        "environments.sandbox.channels is missing: the host:port that manages channels"
                    )
                ) { try await list(Self.news, homeless) }
                let binary = EnvironmentSettings(name: "sandbox", gateways: environment.gateways)
                await #expect(
                    throws: ToolError.configuration(
                        "environments.sandbox.transport is binary; channels need http2"
                    )
                ) { try await list(Self.news, binary) }
            } configure: { configuration, pki in
                configuration.certificates.directory = pki
            }
        }
    }
}
