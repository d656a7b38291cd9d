/// User inbound event of a ``TLSHandler``: the handshake is done, and plaintext can be written.
///
/// On a TLS 1.3 client it does *not* mean that the server has accepted the client's certificate; a refusal comes
/// later, as ``TLSError/certificateRefused(alert:openSSLErrors:)``.
public struct TLSHandshakeCompleted: Sendable, Equatable {
    /// As in `TLSv1.3`.
    public var version: String
    /// As in `TLS_AES_256_GCM_SHA384`.
    public var cipher: String
    /// The peer's certificate, whose chain (and on a client: host name) has been validated; `nil` if it showed none.
    public var peer: CertificateInfo?
}
