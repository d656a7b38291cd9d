import COpenSSL

/// The certificates that an identity sends, by name: its own first, then the intermediates in the order of their file.
public struct CertificateChain: Sendable, Equatable {
    /// The names of the certificates' subjects, at least one.
    public var subjects: [String]
    /// The name of the last certificate's issuer; nil: it has signed itself.
    public var issuer: String?
    /// Index of the first certificate that the next one has not issued; nil: the chain is whole.
    public var gap: Int?
}

extension TLSIdentity {
    /// The chain as it is sent, down to the name of the root that a peer must know.
    public var chain: CertificateChain {
        let certificates = [leaf] + intermediates
        let gap = zip(certificates, certificates.dropFirst()).enumerated().first { _, link in
            X509_check_issued(link.1.pointer, link.0.pointer) != X509_V_OK
        }
        let last = certificates[certificates.count - 1]
        let isRoot = X509_check_issued(last.pointer, last.pointer) == X509_V_OK
        return CertificateChain(
            subjects: certificates.map { CertificateInfo.name(X509_get_subject_name($0.pointer)) },
            issuer: isRoot ? nil : CertificateInfo.name(X509_get_issuer_name(last.pointer)),
            gap: gap?.offset
        )
    }
}
