/// The operations port of a role: its address, and what keeps strangers from it.
public struct OperationsSettings: Sendable, Equatable {
    /// Nil: there is no port.
    public var listen: HostPort?
    /// The file of the token that `/metrics` and `/status` want; nil: they want none.
    public var bearerTokenFile: String?
    /// The PEM file of the server's certificate and key; nil: the port speaks plain HTTP.
    public var certificateFile: String?

    static let tokenKey = "operations.bearer-token-file"
    static let certificateKey = "operations.certificate"

    public init() {}

    /// The files that are secrets, each with the key that names it.
    var secrets: [(key: String, file: String)] {
        [(Self.tokenKey, bearerTokenFile), (Self.certificateKey, certificateFile)].compactMap { key, file in
            file.map { (key, $0) }
        }
    }

    /// The keys that are not set although others than this machine reach the port.
    var missingProtection: [String] {
        guard let listen, !listen.isLoopback else { return [] }
        let given = secrets.map(\.key)
        return [Self.tokenKey, Self.certificateKey].filter { !given.contains($0) }
    }
}

extension HostPort {
    /// Only this machine reaches it. A name other than `localhost` may lead anywhere.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
