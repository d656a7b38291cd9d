import APNsProtocol
import BelfrySupport
import TLSTransport
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// A proxy that refuses the configured login, as apps and their metrics have it.
@Suite struct ProxyRefusalTests {
    private typealias Bench = ShardBench

    private func refusal() throws -> ProxyFailure {
        ProxyFailure(
            of: try ProxySettings(url: "http://me:sesame@proxy.example:3128"),
            target: HostPort(host: "gateway.example", port: 443),
            .noTunnel(.loginRefused(status: 407, schemes: ["basic"]))
        )
    }

    @Test(
        "A refused login stops an app with a reason of its own, not as unreachable; it goes on once it is taken",
        arguments: EnvironmentSettings.Transport.allCases
    )
    func stops(transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.gateway.trouble = try refusal()
        bench.gateway.unreachable = [Bench.news]
        bench.service.trouble = try refusal()
        bench.service.isUnreachable = true
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == "proxy-refused")
        let disconnects = bench.shard.report().topics.first { $0.bundleID == Bench.news }?.counters.disconnects ?? []
        #expect(disconnects[DisconnectReason.proxyRefused.rawValue] > 0)
        #expect(disconnects.reduce(0, +) == disconnects[DisconnectReason.proxyRefused.rawValue])
        #expect(try bench.outcomes().isEmpty)
        bench.gateway.unreachable = []
        bench.service.isUnreachable = false
        bench.wait(milliseconds: 10_000)
        #expect(transport == .http2 || bench.gateway.accepted(of: Bench.news) == [1])
        #expect(transport == .binary || bench.service.accepted(of: Bench.news) == [1])
        #expect(bench.reason(Bench.news) == nil)
    }

    @Test("The reason for an end follows from its error and from how far the connection had come")
    func reasons() throws {
        struct Other: Error {}
        let certificate = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
        let status = ProxyFailure(
            of: try ProxySettings(url: "http://p:1"),
            target: HostPort(host: "g", port: 1),
            .noTunnel(.refused(status: 502))
        )
        for isOpen in [true, false] {
            #expect(DisconnectReason(endedBy: certificate, wasOpen: isOpen) == .certificateRefused)
        }
        #expect(DisconnectReason(endedBy: try refusal(), wasOpen: false) == .proxyRefused)
        #expect(DisconnectReason(endedBy: status, wasOpen: false) == .connectFailed)
        #expect(DisconnectReason(endedBy: nil, wasOpen: false) == .connectFailed)
        #expect(DisconnectReason(endedBy: nil, wasOpen: true) == .endOfStream)
        #expect(DisconnectReason(endedBy: Other(), wasOpen: true) == .failure)
    }
}
