import Foundation

/// An HTTP proxy through which the servers of an environment are reached, as written in a URL:
/// `http://[user:password@]host:port`. User and password may be percent-encoded.
public struct ProxySettings: Sendable, Hashable {
    /// User and password of the scheme Basic (RFC 7617).
    struct Login: Sendable, Hashable {
        var user: String
        var password: String
    }

    public let address: HostPort
    /// Nil: the proxy asks for none.
    let login: Login?

    /// Reads a URL.
    ///
    /// - Throws: ``ProxyURLError``, which repeats no part of the URL: with a misplaced sign any may be the password.
    package init(url: String) throws(ProxyURLError) {
        let scheme = "http://"
        guard url.hasPrefix(scheme) else {
            throw ProxyURLError(
                message: url.hasPrefix("https://")
                    ? "https:// would speak TLS to the proxy itself, which Belfry does not; TLS to the gateway goes "
                        + "through an http:// proxy unopened"
                    : "its scheme must be http://"
            )
        }
        var rest = url.dropFirst(scheme.count)
        // A password may hold the sign that ends it.
        if let end = rest.lastIndex(of: "@") {
            login = try Self.login(rest[..<end])
            rest = rest[rest.index(after: end)...]
        } else {
            login = nil
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard let address = HostPort(String(rest)) else {
            throw ProxyURLError(message: "its address must be a host, a colon and a port from 1 to 65535")
        }
        self.address = address
    }

    private static func login(_ text: Substring) throws(ProxyURLError) -> Login {
        guard let colon = text.firstIndex(of: ":") else {
            throw ProxyURLError(message: "its login must be user:password@")
        }
        guard let user = text[..<colon].removingPercentEncoding,
            let password = text[text.index(after: colon)...].removingPercentEncoding
        else {
            throw ProxyURLError(message: "a % in user or password is written %25")
        }
        let isPlain = (user + password).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard isPlain, !user.contains(":") else {
            throw ProxyURLError(message: "a user has no colon, and neither user nor password a control character")
        }
        return Login(user: user, password: password)
    }

    /// The value of `Proxy-Authorization`; nil: the proxy gets none. A secret.
    var authorization: String? {
        login.map { "Basic " + Data("\($0.user):\($0.password)".utf8).base64EncodedString() }
    }
}

extension ProxySettings: CustomStringConvertible {
    /// The URL with the password blanked out, fit for a log.
    public var description: String { "http://\(login.map { "\($0.user):***@" } ?? "")\(address)" }
}

/// A fault in the URL of a proxy.
package struct ProxyURLError: Error {
    /// Fit to follow "a URL that is wrong: " in a sentence; never holds the password.
    let message: String
}
