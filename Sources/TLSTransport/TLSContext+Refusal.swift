import COpenSSL

extension TLSContext {
    /// A server that shakes hands with nobody: whatever certificate a client shows is answered with the alert
    /// `certificate_revoked` (RFC 8446 §6.2), so that the client can tell it from a server that is not there.
    ///
    /// - Parameter clientTrust: as of a server that would take them; a client chooses its certificate by it.
    /// - Throws: as other servers' initialisers.
    public convenience init(
        refusingServer identity: TLSIdentity,
        clientTrust: TLSTrust
    ) throws(TLSConfigurationError) {
        try self.init(server: identity, clientTrust: clientTrust, requireClientCertificate: true)
        SSL_CTX_set_cert_verify_callback(
            self.pointer,
            { store, _ in
                X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED)
                return 0
            },
            nil
        )
    }
}
