/// The files in PEM form of a Redis server that is to be had over TLS only and asks for a certificate.
public struct RedisTLSFiles: Sendable {
    /// The authority that servers and clients trust.
    public var authority: String
    /// The servers' certificate and key.
    public var server: String
    /// A client's certificate and key; the servers show it to each other, too.
    public var client: String

    public init(authority: String, server: String, client: String) {
        self.authority = authority
        self.server = server
        self.client = client
    }

    func serverArguments(port: Int) -> [String] {
        [
            "--port", "0", "--tls-port", "\(port)", "--tls-auth-clients", "yes", "--tls-replication", "yes",
            "--tls-cluster", "yes", "--tls-ca-cert-file", authority, "--tls-cert-file", server, "--tls-key-file",
            server,
            "--tls-client-cert-file", client, "--tls-client-key-file", client,
        ]
    }

    /// Of redis-cli.
    var clientArguments: [String] {
        ["--tls", "--cacert", authority, "--cert", client, "--key", client]
    }
}
