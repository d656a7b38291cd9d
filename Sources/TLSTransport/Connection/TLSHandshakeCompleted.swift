/// User inbound event of a ``TLSHandler``: the handshake is done, and plaintext can be written.
///
/// On a TLS 1.3 client it does *not* mean that the server has accepted the client's certificate. A refusal comes later,
/// as ``TLSError/certificateRefused(alert:openSSLErrors:)``.
public struct TLSHandshakeCompleted: Sendable, Equatable {
    /// The version, e.g. `TLSv1.3`.
    public var version: String
    /// The cipher, e.g. `TLS_AES_256_GCM_SHA384`.
    public var cipher: String
    /// The protocol agreed on by ALPN, e.g. `h2`; `nil` if either side did not name any.
    public var applicationProtocol: String?
    /// The peer's certificate, with validated chain (and on a client: host name); `nil` if there was none.
    public var peer: CertificateInfo?
}
