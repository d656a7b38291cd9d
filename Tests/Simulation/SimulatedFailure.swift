import TLSTransport

/// The reason that a simulated connection ended.
struct SimulatedFailure: Error, CustomStringConvertible {
    let reason: String

    var description: String { reason }

    /// The error of TLS for a peer that does not want our certificate.
    static let certificate = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
}
