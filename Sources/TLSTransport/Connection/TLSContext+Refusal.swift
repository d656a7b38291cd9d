import COpenSSL

extension TLSContext {
    /// A server that refuses every client. It answers any client certificate with the alert `certificate_revoked` (RFC
    /// 8446 §6.2), so that the client can distinguish it from a server that is down.
    ///
    /// - Parameter clientTrust: the same as for a server that would accept them; a client chooses its certificate by
    ///   it.
    /// - Throws: the errors of the other servers' initialisers.
    public convenience init(
        refusingServer identity: TLSIdentity,
        clientTrust: TLSTrust
    ) throws(TLSConfigurationError) {
        try self.init(server: identity, clientTrust: clientTrust, requireClientCertificate: true)
        SSL_CTX_set_cert_verify_callback(
            pointer,
            { store, _ in
                X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED)
                return 0
            },
            nil
        )
    }
}
