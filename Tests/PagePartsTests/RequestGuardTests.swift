import Testing

@testable import PageParts

/// A browser on the same machine shows pages of others too; none of them is to switch anything here.
struct RequestGuardTests {
    private func refused(
        _ method: String,
        _ path: String,
        host: String? = "127.0.0.1:2190",
        origin: String? = nil,
        site: String? = nil,
        mode: String? = nil,
        by guardian: RequestGuard = RequestGuard()
    ) -> String? {
        let headers = RequestGuard.Headers(host: host, origin: origin, fetchSite: site, fetchMode: mode)
        return guardian.refusal(of: headers, method: method, path: path)?.field
    }

    @Test("Programs that say nothing about where they come from are served")
    func programs() {
        for host in ["127.0.0.1:2190", "localhost:2190", "localhost", "LOCALHOST:80", "[::1]:2190", nil] {
            #expect(refused("POST", "/faults", host: host) == nil)
            #expect(refused("GET", "/stats", host: host) == nil)
        }
    }

    @Test(
        "A host name that is not the loopback's is refused: it may be one that was made to point here",
        arguments: [
            "evil.example", "evil.example:2190", "localhost.evil.example", "127.0.0.1.evil.example", "localhostx:1",
            "127.0.0.1:2190@evil.example", "localhost:x", "10.0.0.1:2190", "",
        ]
    )
    func rebinding(host: String) {
        for (method, path) in [("GET", "/"), ("GET", "/events"), ("POST", "/faults")] {
            #expect(refused(method, path, host: host, mode: "navigate") == "host")
        }
    }

    @Test("A page of another origin is refused, another port of this machine and no origin in particular included")
    func otherOrigin() {
        for origin in ["http://evil.example", "http://127.0.0.1:8080", "https://127.0.0.1:2190", "null", ""] {
            #expect(refused("POST", "/faults", origin: origin) == "origin")
            #expect(refused("GET", "/events", origin: origin) == "origin")
        }
        for site in ["cross-site", "same-site", "x"] {
            #expect(refused("GET", "/events", site: site) == "sec-fetch-site")
            #expect(refused("POST", "/devices", site: site) == "sec-fetch-site")
        }
    }

    @Test("The page itself is served, and may switch")
    func own() {
        #expect(refused("POST", "/faults", origin: "http://127.0.0.1:2190", site: "same-origin", mode: "cors") == nil)
        #expect(refused("GET", "/events", host: "localhost:9", site: "same-origin", mode: "cors") == nil)
        #expect(refused("GET", "/", site: "none", mode: "navigate") == nil)
    }

    @Test("A link from elsewhere leads to the page, but nowhere else")
    func link() {
        #expect(refused("GET", "/", site: "cross-site", mode: "navigate") == nil)
        #expect(refused("GET", "/", site: "cross-site", mode: "no-cors") == "sec-fetch-site")
        #expect(refused("GET", "/stats", site: "cross-site", mode: "navigate") == "sec-fetch-site")
        #expect(refused("POST", "/", site: "cross-site", mode: "navigate") == "sec-fetch-site")
    }

    @Test("A port beyond the loopback is served under its addresses and the names it was given, and no others")
    func names() {
        let guardian = RequestGuard(names: ["Console.example"], takesAddresses: true)
        for host in ["10.1.2.3:2189", "10.1.2.3", "[fd00::1]:2189", "console.example:80", "localhost:1"] {
            #expect(refused("GET", "/events", host: host, by: guardian) == nil, "\(host)")
        }
        for host in [
            "evil.example", "10.1.2.3.evil.example", "10.1.2", "1.2.3.256", "[fd00::1].evil", "[evil]", "[::1",
            "console.example.evil", "10.1.2.3:x",
        ] {
            #expect(refused("GET", "/events", host: host, by: guardian) == "host", "\(host)")
        }
        #expect(refused("GET", "/events", host: "10.1.2.3") == "host")
    }
}
