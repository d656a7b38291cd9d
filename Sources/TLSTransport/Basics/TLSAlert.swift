import COpenSSL

/// A TLS alert that the peer sent (RFC 8446 §6, RFC 5246 §7.2).
public struct TLSAlert: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The alert's number on the wire.
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let handshakeFailure = TLSAlert(rawValue: 40)
    public static let noCertificate = TLSAlert(rawValue: 41)
    public static let badCertificate = TLSAlert(rawValue: 42)
    public static let unsupportedCertificate = TLSAlert(rawValue: 43)
    public static let certificateRevoked = TLSAlert(rawValue: 44)
    public static let certificateExpired = TLSAlert(rawValue: 45)
    public static let certificateUnknown = TLSAlert(rawValue: 46)
    public static let unknownCA = TLSAlert(rawValue: 48)
    public static let accessDenied = TLSAlert(rawValue: 49)
    public static let certificateRequired = TLSAlert(rawValue: 116)
    /// The server speaks none of the protocols that the client offered (RFC 7301 §3.2).
    public static let noApplicationProtocol = TLSAlert(rawValue: 120)

    /// The alert says that the peer does not want our certificate.
    ///
    /// `handshake_failure` counts: with TLS 1.2 many servers, OpenSSL's among them, answer a missing certificate with
    /// it. `decrypt_error` does not: it concerns a wrong signature, not its owner.
    public var isAboutCertificate: Bool {
        switch self {
        case .handshakeFailure, .noCertificate, .badCertificate, .unsupportedCertificate, .certificateRevoked,
            .certificateExpired, .certificateUnknown, .unknownCA, .accessDenied, .certificateRequired:
            true
        default:
            false
        }
    }

    /// The cause, behind ``description`` in a sentence, where OpenSSL's text does not lead to it; else empty.
    var explanation: String {
        self == .noApplicationProtocol ? ": it speaks none of the protocols that are offered to it (ALPN)" : ""
    }

    /// OpenSSL's text for the alert, and its number, as in `certificate revoked (alert 44)`.
    public var description: String {
        let words = SSL_alert_desc_string_long(Int32(rawValue)).map { String(cString: $0) } ?? "unknown"
        return "\(words) (alert \(rawValue))"
    }
}
