import COpenSSL

/// The roots that a peer's certificate must lead to. There is deliberately no "none".
public enum TLSTrust: Sendable, Equatable {
    /// The roots of the operating system.
    case system
    /// A file of one or more certificates in PEM form; only these count.
    case file(String)
    /// One or more certificates in PEM form, in memory; only these count.
    case pem([UInt8])
}

extension TLSTrust {
    /// The roots as certificates; `nil` for the system's, which OpenSSL finds by itself.
    ///
    /// - Throws: ``TLSConfigurationError`` when the file cannot be read or holds no certificate.
    func loadRoots() throws(TLSConfigurationError) -> [CertificateHandle]? {
        let file: String?
        let pem: [UInt8]
        switch self {
        case .system:
            return nil
        case .file(let path):
            file = path
            pem = try FileAccess.read(path)
        case .pem(let bytes):
            file = nil
            pem = bytes
        }
        do throws(TLSConfigurationError) {
            let roots = try PEM.certificates(in: pem)
            guard !roots.isEmpty else { throw TLSConfigurationError(.noCertificate) }
            return roots
        } catch {
            throw file.map(error.inFile) ?? error
        }
    }
    /// The same roots, read now, for several contexts that must trust the same roots.
    ///
    /// - Throws: ``TLSConfigurationError`` when the file cannot be read or holds no certificate.
    public func inMemory() throws(TLSConfigurationError) -> TLSTrust {
        guard case .file(let path) = self else { return self }
        _ = try loadRoots()
        return .pem(try FileAccess.read(path))
    }
}
