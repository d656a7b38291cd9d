import TLSTransport

/// Why a simulated connection ended.
struct SimulatedFailure: Error, CustomStringConvertible {
    let reason: String

    var description: String { reason }

    /// What TLS makes of a peer that does not want our certificate.
    static let certificate = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
}
