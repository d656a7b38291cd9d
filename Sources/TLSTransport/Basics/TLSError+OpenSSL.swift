import COpenSSL

extension TLSError {
    /// Classifies the error queue of a failed call by its cause and its remedy.
    ///
    /// - Parameters:
    ///   - errors: the queue, the cause first.
    ///   - verifyResult: `SSL_get_verify_result` of the session (`X509_V_…`).
    ///   - serverName: the name a client asked for; `nil` on a server.
    init(queue errors: [OpenSSLError], verifyResult: Int, serverName: String?) {
        let texts = errors.map(\.text)
        if let alert = errors.lazy.compactMap(\.receivedAlert).first {
            self =
                alert.isAboutCertificate
                ? .certificateRefused(alert: alert, openSSLErrors: texts)
                : .protocolFailure(reason: "the peer sent \(alert)" + alert.explanation, openSSLErrors: texts)
        } else if errors.contains(where: { $0.isSSL(SSL_R_CERTIFICATE_VERIFY_FAILED) }) {
            let reason = X509_verify_cert_error_string(verifyResult).map { String(cString: $0) } ?? "unknown"
            self = .peerNotTrusted(reason: reason, serverName: serverName, openSSLErrors: texts)
        } else if errors.contains(where: { $0.isSSL(SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) }) {
            self = .peerNotTrusted(reason: "no certificate was shown", serverName: serverName, openSSLErrors: texts)
        } else if errors.contains(where: { $0.isSSL(SSL_R_NO_APPLICATION_PROTOCOL) }) {
            self = .protocolFailure(
                reason: "the client offers none of the protocols that this server speaks (ALPN)",
                openSSLErrors: texts
            )
        } else {
            self = .protocolFailure(reason: texts.first ?? "OpenSSL gives no reason", openSSLErrors: texts)
        }
    }
}

extension OpenSSLError {
    func isSSL(_ reason: Int32) -> Bool {
        library == ERR_LIB_SSL && self.reason == reason
    }

    /// The peer's alert, queued as reason 1000 + its number (`SSL_AD_REASON_OFFSET`).
    fileprivate var receivedAlert: TLSAlert? {
        guard library == ERR_LIB_SSL else { return nil }
        return UInt8(exactly: reason - SSL_AD_REASON_OFFSET).map(TLSAlert.init(rawValue:))
    }
}
