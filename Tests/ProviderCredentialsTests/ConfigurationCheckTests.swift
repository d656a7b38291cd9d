import BelfrySupport
import Testing

@testable import BelfryTools
@testable import TLSTransport

/// `belfry config check` on files that are there.
@Suite struct ConfigurationCheckTests {
    private let files: CertificateFiles
    private let now: Int64 = 1_700_000_000

    init() throws {
        files = try CertificateFiles()
    }

    private func findings(_ yaml: String) throws -> [ConfigurationFinding] {
        try files.write("certificates: {directory: .}\n\(yaml)\n", to: "belfry.yaml")
        let inspection = try BelfryConfiguration.inspect(path: files.path("belfry.yaml"), variables: [:])
        return ConfigurationCheck.findings(of: inspection, now: now)
    }

    @Test("Certificates that are good are no fault, those of an environment without any are, and a short rest is noted")
    func certificates() throws {
        let identity = try files.client("com.example.news", validity: (now - 86_400)...(now + 10 * 86_400))
        try identity.writePEM(to: files.path("news.pem"))
        let good = try findings("environments: {sandbox: {gateways: a}}")
        #expect(good.map(\.verdict) == [.note, .good], "\(good)")
        #expect(good.first?.found.hasSuffix("news.pem: com.example.news ends in 10 days") == true)
        #expect(ConfigurationCheck.complaint(about: good) == nil)
        let bad = try findings("environments: {sandbox: {gateways: a}, production: {gateways: a}}")
        #expect(bad.filter { $0.verdict == .fault }.map(\.key) == ["environments.production"])
    }

    @Test("A provider key stands in for certificates over HTTP/2 alone, and a key that a topic names must be there")
    func keys() throws {
        try ProviderKey.generate().writePEM(to: files.path("AuthKey_KEY1.p8"))
        let keys = "keys: {directory: ., team: TEAM}"
        let found = try findings(
            """
            environments: {sandbox: {gateways: a}, today: {gateways: a, transport: http2}}
            apps: {a.b: {key: KEY1}, a.c: {key: KEY2}, a.d: {team: OTHER}}
            \(keys)
            """
        )
        let faults = found.filter { $0.verdict == .fault }.map(\.key)
        #expect(faults == ["apps.a.c.key", "apps.a.d.team", "environments.sandbox"], "\(found)")
    }

    @Test("A file that is broken is a fault of the key that names its place")
    func broken() throws {
        try files.client("com.example.news", validity: (now - 1)...(now + 100 * 86_400))
            .writePEM(to: files.path("news.pem"))
        try files.write("no container", to: "other.p12")
        try files.write("secret", to: "other.passphrase")
        try files.write("no roots", to: "roots")
        let found = try findings("environments: {sandbox: {gateways: a, trust: roots}}")
        #expect(found.map(\.key) == ["environments.sandbox.trust", "certificates.directory"], "\(found)")
        #expect(found.allSatisfy { $0.verdict == .fault && $0.cure != nil })
    }

    @Test("A gateway that does not speak HTTP/2 where it should is a fault")
    func protocols() throws {
        let gateway = HostPort(host: "g", port: 443)
        func verdict(_ name: String?, _ transport: EnvironmentSettings.Transport) -> ConfigurationFinding.Verdict {
            let handshake = TLSHandshakeCompleted(version: "TLSv1.3", cipher: "c", applicationProtocol: name, peer: nil)
            return GatewayTrial.finding(of: handshake, with: gateway, transport, key: "k").verdict
        }
        #expect(verdict("h2", .http2) == .good && verdict(nil, .http2) == .fault && verdict(nil, .binary) == .good)
    }
}
