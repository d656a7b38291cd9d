/// Keeps web pages from elsewhere away from a port with a page.
///
/// A port on the loopback is on this machine only, but so is the user's browser, and any page it shows can send
/// requests there. A browser says where a request comes from, and that is what is checked; programs that say nothing of
/// the kind (curl, test suites) are served.
package struct RequestGuard: Equatable, Sendable {
    /// Headers that tell the origin of a request; `nil` = not there.
    package struct Headers: Equatable {
        package var host: String?
        package var origin: String?
        /// `Sec-Fetch-Site`.
        package var fetchSite: String?
        /// `Sec-Fetch-Mode`.
        package var fetchMode: String?

        package init(host: String?, origin: String?, fetchSite: String?, fetchMode: String?) {
            self.host = host
            self.origin = origin
            self.fetchSite = fetchSite
            self.fetchMode = fetchMode
        }
    }

    private static let loopback = ["localhost", "127.0.0.1", "[::1]"]
    /// Names beside those of the loopback, in lower case.
    private let names: [String]
    /// Numeric addresses are names, too: a port that is no loopback's has some, and no name made elsewhere is one.
    private let takesAddresses: Bool

    /// - Parameters:
    ///   - names: host names under which the port is served beside those of the loopback.
    ///   - takesAddresses: whether any numeric address is one.
    package init(names: [String] = [], takesAddresses: Bool = false) {
        self.names = names.map { $0.lowercased() }
        self.takesAddresses = takesAddresses
    }

    /// The reason that a request is not to be served; `nil` = it may be.
    package func refusal(of headers: Headers, method: String, path: String) -> PortRefusal? {
        // A name of the attacker's that resolves to 127.0.0.1 makes this port the same site as the attacker's page
        // (DNS rebinding); the name gives it away. Ports may differ: they are forwarded.
        if let host = headers.host, !isServed(host) {
            let served = (Self.loopback.prefix(2) + names).joined(separator: ", ")
            let error = "is \"\(host.prefix(80))\", this port is served as \(served) or [::1] only"
            return PortRefusal(field: "host", error: error)
        }
        if let origin = headers.origin, origin.lowercased() != "http://\((headers.host ?? "").lowercased())" {
            let error = "is \"\(origin.prefix(80))\", a page of this port is expected"
            return PortRefusal(field: "origin", error: error)
        }
        // A link to the page may stand anywhere.
        if method == "GET", path == "/", headers.fetchMode == "navigate" { return nil }
        if let site = headers.fetchSite, site != "same-origin", site != "none" {
            let error = "is \"\(site.prefix(40))\", a page of this port is expected"
            return PortRefusal(field: "sec-fetch-site", error: error)
        }
        return nil
    }

    /// The host is a name of the port, with a port or without.
    private func isServed(_ host: String) -> Bool {
        let host = host.lowercased()
        for name in Self.loopback + names where host.hasPrefix(name) {
            if Self.isPort(host.utf8.dropFirst(name.utf8.count)) { return true }
        }
        guard takesAddresses else { return false }
        let address = host.prefix { $0 != ":" }
        let parts = address.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) {
            return Self.isPort(host.utf8.dropFirst(address.utf8.count))
        }
        guard host.hasPrefix("["), let end = host.firstIndex(of: "]") else { return false }
        let inside = host[host.index(after: host.startIndex)..<end]
        return inside.contains(":") && inside.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            && Self.isPort(host[host.index(after: end)...].utf8[...])
    }

    /// Nothing, or a colon and digits.
    private static func isPort(_ rest: Substring.UTF8View) -> Bool {
        if rest.isEmpty { return true }
        let isNumber = rest.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return rest.first == UInt8(ascii: ":") && isNumber
    }
}
