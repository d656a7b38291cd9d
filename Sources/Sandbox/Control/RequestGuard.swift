/// Keeps web pages from elsewhere away from the control port.
///
/// The port is on the loopback only, but so is the user's browser, and any page it shows can send requests there. A
/// browser says where a request comes from, and that is what is checked; programs that say nothing of the kind (curl,
/// test suites) are served.
enum RequestGuard {
    /// Headers that tell the origin of a request; `nil` = not there.
    struct Headers: Equatable {
        var host: String?
        var origin: String?
        /// `Sec-Fetch-Site`.
        var fetchSite: String?
        /// `Sec-Fetch-Mode`.
        var fetchMode: String?
    }

    /// The reason that a request is not to be served; `nil` = it may be.
    static func refusal(of headers: Headers, method: String, path: String) -> ControlError? {
        // A name of the attacker's that resolves to 127.0.0.1 makes this port the same site as the attacker's page
        // (DNS rebinding); the name gives it away. Ports may differ: they are forwarded.
        if let host = headers.host, !isLoopback(host) {
            let error = "is \"\(host.prefix(80))\", this port is served as localhost, 127.0.0.1 or [::1] only"
            return ControlError(field: "host", error: error)
        }
        if let origin = headers.origin, origin.lowercased() != "http://\((headers.host ?? "").lowercased())" {
            return ControlError(field: "origin", error: "is \"\(origin.prefix(80))\", a page of this port is expected")
        }
        // A link to the page may stand anywhere.
        if method == "GET", path == "/", headers.fetchMode == "navigate" { return nil }
        if let site = headers.fetchSite, site != "same-origin", site != "none" {
            let error = "is \"\(site.prefix(40))\", a page of this port is expected"
            return ControlError(field: "sec-fetch-site", error: error)
        }
        return nil
    }

    /// The host is a name of the loopback, with a port or without.
    private static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        for name in ["localhost", "127.0.0.1", "[::1]"] where host.hasPrefix(name) {
            let rest = host.utf8.dropFirst(name.utf8.count)
            if rest.isEmpty { return true }
            let port = rest.dropFirst()
            let isNumber = port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return rest.first == UInt8(ascii: ":") && isNumber
        }
        return false
    }
}
