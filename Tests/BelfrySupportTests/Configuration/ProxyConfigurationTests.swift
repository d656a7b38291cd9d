import PipelineCore
import Testing

@testable import BelfrySupport

/// The proxy of an environment, as the configuration names it.
@Suite("Configuration of proxies")
struct ProxyConfigurationTests {
    private typealias Login = ProxySettings.Login

    private func inspect(_ url: String?, _ variables: [String: String] = [:]) throws -> ConfigurationInspection {
        try BelfryConfiguration.inspect(
            yaml: "environments: {e: {gateways: a\(url.map { ", proxy: '\($0)'" } ?? "")}}",
            file: "belfry.yaml",
            directory: nil,
            variables: variables,
            readFile: { $0 == "/run/proxy" ? "http://me:sesame@p:8888\n" : nil }
        )
    }

    private func proxy(_ url: String) throws -> ProxySettings {
        try #require(try inspect(url).sound().environments[0].proxy)
    }

    @Test("A proxy has a host, a name or an address of either family, and a port; without the key there is none")
    func address() throws {
        #expect(try inspect(nil).sound().environments[0].proxy == nil)
        #expect(try proxy("http://proxy.example:3128").address == HostPort(host: "proxy.example", port: 3128))
        #expect(try proxy("http://10.0.0.1:80/").address == HostPort(host: "10.0.0.1", port: 80))
        #expect(try proxy("http://[fd00::1]:8888").address == HostPort(host: "fd00::1", port: 8888))
        #expect(try proxy("http://proxy.example:3128").authorization == nil)
    }

    @Test("User and password of the URL become the login, percent-encoded signs what they stand for")
    func login() throws {
        #expect(try proxy("http://Aladdin:open sesame@p:1").authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try proxy("http://me:se%40same%25@p:1").login == Login(user: "me", password: "se@same%"))
        #expect(try proxy("http://me:se@sa/me?#@p:1").login == Login(user: "me", password: "se@sa/me?#"))
        #expect(try proxy("http://token:@p:1").login == Login(user: "token", password: ""))
        #expect(try proxy("http://:only@p:1").login == Login(user: "", password: "only"))
    }

    @Test("A variable names the proxy, or the file that holds its URL")
    func variables() throws {
        let plain = try inspect("http://file:1", ["BELFRY_ENVIRONMENTS_E_PROXY": "http://variable:2"]).sound()
        #expect(plain.environments[0].proxy?.address.host == "variable")
        let file = try inspect(nil, ["BELFRY_ENVIRONMENTS_E_PROXY_FILE": "/run/proxy"])
        let proxy = try #require(try file.sound().environments[0].proxy)
        #expect(proxy.address.port == 8888 && proxy.login == Login(user: "me", password: "sesame"))
        let setting = try #require(file.settings.first { $0.key == "environments.e.proxy" })
        #expect(setting.value == .shown("http://me:***@p:8888"))
        #expect(setting.origin == .variable("BELFRY_ENVIRONMENTS_E_PROXY_FILE"))
        #expect(try file.sound().unusedVariables == [])
    }

    @Test(
        "A URL that is wrong is refused with its reason and its place, and none of its parts is repeated",
        arguments: [
            ("https://me:sesame@p:1", "TLS to the proxy itself"), ("socks5://me:sesame@p:1", "must be http://"),
            ("p:3128", "must be http://"), ("sesame", "must be http://"), ("http://p", "a port"),
            ("http://", "a port"), ("http://p:0", "a port"), ("http://p:65536", "a port"),
            ("http://fd00::1:1", "a port"), ("http://p:1/sesame", "a port"), ("http://me:sesame", "a port"),
            ("http://me:1@", "a port"),
            ("http://sesame@p:1", "user:password@"), ("http://me:sesame%@p:1", "%25"), ("http://me:%FF@p:1", "%25"),
            ("http://me:sesame%0D%0AX@p:1", "control character"), ("http://m%3Ae:sesame@p:1", "no colon"),
        ]
    )
    func wrong(url: String, reason: String) throws {
        let inspection = try inspect(url)
        let problem = try #require(inspection.problems.first)
        #expect(inspection.problems.count == 1 && problem.key == "environments.e.proxy")
        #expect(problem.found.contains(reason), "\(problem)")
        #expect(problem.origin == .file("belfry.yaml", line: 1))
        #expect(!"\(problem)".contains("sesame") && problem.allowed == "http://[user:password@]host:port")
        #expect(inspection.configuration.environments[0].proxy == nil)
    }

    @Test("No description of a configuration or of a proxy's failure holds the password, nor its encoded form")
    func secret() throws {
        let configuration = try inspect("http://me:sesame@p:1").sound()
        let proxy = try #require(configuration.environments[0].proxy)
        let target = HostPort(host: "gateway.example", port: 443)
        var texts = ["\(configuration)", String(reflecting: configuration.environments), "\(proxy)"]
        for cause in [.unreachable("no"), .noTunnel(.loginRefused(status: 407, schemes: []))] as [ProxyFailure.Cause] {
            let failure = ProxyFailure(of: proxy, target: target, cause)
            texts += ["\(failure)", String(reflecting: failure)]
        }
        let encoded = try #require(proxy.authorization).dropFirst("Basic ".count)
        for text in texts { #expect(!text.contains("sesame") && !text.contains(encoded), "\(text)") }
    }

    @Test("Another password is told as a change that needs a new start, without either value")
    func changed() throws {
        var inForce = ConfigurationInForce(
            try inspect("http://me:sesame@p:1"),
            sections: ConfigurationKeys.commonSections
        )
        #expect(inForce.take(try inspect("http://me:sesame@p:1")) == [])
        let change = ConfigurationChange(key: "environments.e.proxy", old: .hidden, new: .hidden, isApplied: false)
        #expect(inForce.take(try inspect("http://me:hush@p:1")) == [change])
        #expect(inForce.restartNeeded == [change])
    }

    @Test("What a proxy answered is told in words, a refused login as a matter of the configuration")
    func words() throws {
        let target = HostPort(host: "g", port: 443)
        func failure(_ url: String, _ cause: ProxyTunnelStateMachine.Failure) throws -> ProxyFailure {
            ProxyFailure(of: try proxy(url), target: target, .noTunnel(cause))
        }
        let known = try failure("http://me:sesame@p:1", .loginRefused(status: 407, schemes: ["basic"]))
        #expect("\(known)" == "the proxy p:1 refuses the configured user and password (status 407)")
        let unknown = try failure("http://p:1", .loginRefused(status: 407, schemes: []))
        #expect("\(unknown)" == "the proxy p:1 wants a user and a password, and none are configured (status 407)")
        let other = try failure("http://p:1", .loginRefused(status: 407, schemes: ["negotiate", "ntlm"]))
        #expect("\(other)".contains("by negotiate or ntlm; Belfry knows basic alone"))
        #expect(known.isLoginRefused && other.isLoginRefused && !known.isOfTarget)
        let refused = try failure("http://p:1", .refused(status: 403))
        #expect("\(refused)" == "the proxy p:1 does not connect to g:443: status 403, its rules forbid it")
        #expect(!refused.isLoginRefused && refused.isOfTarget)
    }
}
