/// The errors of a TLS connection, classified by the operator's remedy.
///
/// Errors of the socket (`IOError`, `ChannelError`) are passed on unchanged once the handshake is done; before that
/// they are the `cause` of ``closedDuringHandshake(cause:)``. A host that does not answer at all never gets here: its
/// connect fails or times out in NIO.
public enum TLSError: Error, Equatable, Sendable {
    /// The peer sent an alert that refuses our certificate.
    ///
    /// With TLS 1.3 a client's handshake ends before the server has judged the client's certificate: there this error
    /// comes *after* ``TLSHandshakeCompleted``, with the first read (RFC 8446 §4.4.2.4).
    case certificateRefused(alert: TLSAlert, openSSLErrors: [String])

    /// The peer is not trusted: its chain, its validity, its host name or the lack of a certificate. `serverName` is
    /// the requested name (`nil` on a server, which judges a client).
    case peerNotTrusted(reason: String, serverName: String?, openSSLErrors: [String])

    /// The bytes were not the expected TLS. Another protocol, no common version or cipher, a corrupted record, or an
    /// alert of the peer that does not concern certificates.
    case protocolFailure(reason: String, openSSLErrors: [String])

    /// The stream ended without close_notify: the peer's last bytes may be missing (RFC 8446 §6.1).
    case uncleanShutdown

    /// The connection ended before the handshake did, without an alert that gives the reason. `cause` is the socket's
    /// error, if there was one.
    case closedDuringHandshake(cause: String?)

    /// The peer refused *our* certificate. Retrying with the same one is pointless until an operator acts.
    public var isCertificateRefused: Bool {
        if case .certificateRefused = self { true } else { false }
    }

    /// OpenSSL's error queue at the time of the failure, the cause first. Empty if OpenSSL was not involved.
    public var openSSLErrors: [String] {
        switch self {
        case .certificateRefused(_, let errors), .peerNotTrusted(_, _, let errors), .protocolFailure(_, let errors):
            errors
        case .uncleanShutdown, .closedDuringHandshake:
            []
        }
    }
}

extension TLSError: CustomStringConvertible {
    /// A sentence for people, and all that OpenSSL had to say.
    public var description: String {
        OpenSSLError.describe(sentence, openSSLErrors)
    }

    private var sentence: String {
        switch self {
        case .certificateRefused(let alert, _):
            return "the peer refused our certificate: \(alert)"
        case .peerNotTrusted(let reason, let serverName, _):
            return "the certificate of \(serverName ?? "the client") is not accepted: \(reason)"
        case .protocolFailure(let reason, _):
            return "TLS failed: \(reason)"
        case .uncleanShutdown:
            return "the connection was cut: it ended without close_notify"
        case .closedDuringHandshake(let cause):
            return "the connection was closed during the TLS handshake" + (cause.map { ": \($0)" } ?? "")
        }
    }
}
