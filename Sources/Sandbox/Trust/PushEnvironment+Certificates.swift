import TLSTransport

extension PushEnvironment {
    /// The same in the words of certificates.
    var ofCertificates: CertificateInfo.Environments {
        switch self {
        case .production: .production
        case .development: .development
        }
    }
}
