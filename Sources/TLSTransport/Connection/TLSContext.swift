import COpenSSL

/// The settings shared by connections of one kind: identity, trust, versions (OpenSSL's `SSL_CTX`).
///
/// Made once per certificate, used from any thread: after `init` nothing in it changes and OpenSSL counts references
/// atomically. A certificate is replaced by making a new context for later connections.
public final class TLSContext: @unchecked Sendable {
    /// The oldest accepted version; 1.3 is always preferred.
    public enum MinimumVersion: Sendable {
        case tls12
        case tls13
    }

    enum Role {
        case client
        case server
    }

    let pointer: OpaquePointer
    let role: Role
    /// A server's selection, which OpenSSL asks in handshakes; owned here, and by way of the sessions.
    private var selection: ProtocolSelection?

    /// A client. The peer's chain must lead to `trust`, and its certificate must be for the requested host.
    ///
    /// - Parameters:
    ///   - identity: the certificate to send when the server asks for one; `nil` for none.
    ///   - revocations: the list of the authority that issued the server's certificate: it must not be in it. A server
    ///     of another issuer is refused, for nothing is known of its certificate. `nil`: nothing is checked.
    ///   - protocols: the names to offer by ALPN (RFC 7301), such as `h2`, the preferred first. Each has 1…255 bytes.
    ///     Empty: the extension is not sent. Read the server's choice from ``TLSHandshakeCompleted``.
    /// - Throws: ``TLSConfigurationError`` when the trust cannot be loaded or OpenSSL refuses the identity (a key that
    ///   is too weak for its security level, for example).
    public convenience init(
        client identity: TLSIdentity?,
        trust: TLSTrust = .system,
        revocations: RevocationList? = nil,
        minimumVersion: MinimumVersion = .tls12,
        protocols: [String] = []
    ) throws(TLSConfigurationError) {
        try self.init(role: .client, method: TLS_client_method(), minimumVersion: minimumVersion)
        if !protocols.isEmpty { try offer(protocols) }
        if let identity { try use(identity) }
        try use(trust, announced: false)
        if let revocations { try use(revocations, judge: judgeServer) }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    }

    /// A server.
    ///
    /// - Parameters:
    ///   - clientTrust: the roots that client certificates must lead to; `nil` does not ask for a certificate at all.
    ///   - requireClientCertificate: true: a client without one is refused. Needs `clientTrust`.
    ///   - revocations: clients whose certificate is in it are refused with the alert `certificate_revoked`, so that
    ///     they can distinguish that from a server that is down. Certificates of other issuers are not affected.
    ///   - protocols: the ALPN names to choose from, the preferred first. Each has 1…255 bytes. Empty: the client's
    ///     offer is not looked at.
    ///   - refusesOtherProtocols: true: a client that offers other protocols only is refused with the alert
    ///     `no_application_protocol`. A client that offers nothing is never refused: its
    ///     ``TLSHandshakeCompleted/applicationProtocol`` is `nil`.
    public convenience init(
        server identity: TLSIdentity,
        clientTrust: TLSTrust?,
        requireClientCertificate: Bool,
        revocations: RevocationList? = nil,
        minimumVersion: MinimumVersion = .tls12,
        protocols: [String] = [],
        refusesOtherProtocols: Bool = true
    ) throws(TLSConfigurationError) {
        precondition(clientTrust != nil || !requireClientCertificate, "certificates are judged by roots")
        precondition(clientTrust != nil || revocations == nil, "who is not asked for a certificate has none revoked")
        try self.init(role: .server, method: TLS_server_method(), minimumVersion: minimumVersion)
        try use(identity)
        if !protocols.isEmpty { select(ProtocolSelection(protocols, refusesOthers: refusesOtherProtocols)) }
        if let clientTrust {
            try use(clientTrust, announced: true)
            if let revocations { try use(revocations, judge: judgeClient) }
            SSL_CTX_set_verify(
                pointer,
                SSL_VERIFY_PEER | (requireClientCertificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                nil
            )
        }
    }

    private init(
        role: Role,
        method: OpaquePointer?,
        minimumVersion: MinimumVersion
    ) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        guard let pointer = SSL_CTX_new(method) else { throw .fromQueue("OpenSSL cannot make a TLS context") }
        self.pointer = pointer
        self.role = role

        let version = minimumVersion == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION
        guard belfry_SSL_CTX_set_min_proto_version(pointer, version) == 1 else {
            throw .fromQueue("the TLS version is not supported")
        }
        belfry_SSL_CTX_set_options(pointer)
        // No sessions and no tickets: connections live for days, and a server's unrequested ticket to a client that has
        // already closed causes a reset, which would destroy an answer still on its way.
        belfry_SSL_CTX_disable_session_cache(pointer)
        SSL_CTX_set_num_tickets(pointer, 0)
        // One read of the stream per record instead of two (header, body).
        belfry_SSL_CTX_enable_read_ahead(pointer)
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    private func use(_ identity: TLSIdentity) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        guard
            SSL_CTX_use_certificate(pointer, identity.leaf.pointer) == 1,
            SSL_CTX_use_PrivateKey(pointer, identity.key.pointer) == 1
        else {
            throw .fromQueue("the certificate \"\(identity.certificate.commonName)\" is not usable")
        }
        for certificate in identity.intermediates {
            guard belfry_SSL_CTX_add1_chain_cert(pointer, certificate.pointer) == 1 else {
                throw .fromQueue("an intermediate of \"\(identity.certificate.commonName)\" is not usable")
            }
        }
    }

    /// - Parameter announced: true: the roots' names are sent to clients, so that they can choose a certificate.
    private func use(_ trust: TLSTrust, announced: Bool) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        guard let roots = try trust.loadRoots() else {
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw .fromQueue("the system's root certificates cannot be loaded")
            }
            return
        }
        guard let store = SSL_CTX_get_cert_store(pointer) else { preconditionFailure("a context has a store") }
        for root in roots {
            guard
                X509_STORE_add_cert(store, root.pointer) == 1,
                !announced || SSL_CTX_add_client_CA(pointer, root.pointer) == 1
            else {
                throw .fromQueue("a root certificate is not usable")
            }
        }
    }

    private func offer(_ protocols: [String]) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        let list = ProtocolSelection.wireForm(of: protocols)
        // Zero means success, unlike everywhere else.
        guard SSL_CTX_set_alpn_protos(pointer, list, UInt32(list.count)) == 0 else {
            throw .fromQueue("the ALPN protocols cannot be offered")
        }
    }

    private func select(_ selection: ProtocolSelection) {
        self.selection = selection
        selection.install(in: pointer)
    }

    private func use(
        _ revocations: RevocationList,
        judge: @convention(c) (Int32, OpaquePointer?) -> Int32
    ) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        guard let store = SSL_CTX_get_cert_store(pointer) else { preconditionFailure("a context has a store") }
        guard
            X509_STORE_add_crl(store, revocations.pointer) == 1,
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK)) == 1
        else { throw .fromQueue("the revocation list is not usable") }
        X509_STORE_set_verify_cb(store, judge)
    }
}

/// Judges each fault that OpenSSL finds in a client's certificate; returns 1 for faults that do not matter.
///
/// An overdue revocation list stays in force rather than shutting all peers out, and does not apply to certificates of
/// other issuers [ours]. Runs inside of `SSL_do_handshake`, on its thread.
private func judgeClient(_ isFine: Int32, _ context: OpaquePointer?) -> Int32 {
    guard isFine == 0, X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL else {
        return judgeServer(isFine, context)
    }
    X509_STORE_CTX_set_error(context, X509_V_OK)
    return 1
}

/// Judges each fault that OpenSSL finds in a server's certificate, as ``judgeClient(_:_:)``. But here a list of the
/// certificate's issuer must be there: an operator who sets a list relies on it.
private func judgeServer(_ isFine: Int32, _ context: OpaquePointer?) -> Int32 {
    guard isFine == 0 else { return isFine }
    switch X509_STORE_CTX_get_error(context) {
    case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID:
        X509_STORE_CTX_set_error(context, X509_V_OK)
        return 1
    default:
        return 0
    }
}
