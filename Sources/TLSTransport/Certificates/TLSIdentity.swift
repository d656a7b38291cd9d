import COpenSSL

/// A certificate with its private key, and the intermediate certificates that lead to a root.
///
/// Values are immutable and cheap to copy; any thread may use them. An expired certificate is *not* an error here:
/// ``certificate`` shows it, and the peer decides.
public struct TLSIdentity: Sendable {
    let leaf: CertificateHandle
    let key: PrivateKeyHandle
    let intermediates: [CertificateHandle]

    /// The certificate's information about itself.
    public let certificate: CertificateInfo

    /// - Throws: ``TLSConfigurationError/Reason/keyDoesNotMatchCertificate``.
    init(
        leaf: CertificateHandle,
        key: PrivateKeyHandle,
        intermediates: [CertificateHandle]
    ) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        guard X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
            throw TLSConfigurationError(
                .keyDoesNotMatchCertificate,
                openSSLErrors: OpenSSLError.drainQueue().map(\.text)
            )
        }
        self.leaf = leaf
        self.key = key
        self.intermediates = intermediates
        certificate = CertificateInfo(x509: leaf.pointer)
    }
}

extension TLSIdentity {
    /// Reads a PEM file: certificate, private key and any intermediates, see ``init(pem:passphrase:)``.
    ///
    /// - Throws: ``TLSConfigurationError`` with the file's name.
    public init(pemFile path: String, passphrase: String? = nil) throws(TLSConfigurationError) {
        let bytes = try FileAccess.read(path)
        do {
            try self.init(pem: bytes, passphrase: passphrase)
        } catch {
            throw error.inFile(path)
        }
    }

    /// Reads PEM. The first certificate is the identity's, further ones are sent along as its intermediates; the
    /// private key may stand before or after them, other text is skipped (`openssl pkcs12 -nodes` writes some).
    ///
    /// - Parameter passphrase: for an encrypted private key. There is never a prompt on the terminal.
    /// - Throws: `noCertificate`, `noPrivateKey`, `passphraseMissing`, `wrongPassphrase`, `keyDoesNotMatchCertificate`
    ///   or `rejected`.
    public init(pem: [UInt8], passphrase: String? = nil) throws(TLSConfigurationError) {
        var certificates = try PEM.certificates(in: pem)
        guard !certificates.isEmpty else { throw TLSConfigurationError(.noCertificate) }
        let leaf = certificates.removeFirst()
        try self.init(
            leaf: leaf,
            key: PEM.privateKey(in: pem, passphrase: passphrase),
            intermediates: certificates
        )
    }

    /// Certificate, private key (PKCS#8, not encrypted) and intermediates as PEM. A secret: see
    /// ``writePEM(to:)``.
    public func pem() throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let output = MemoryBIO()
        var written = PEM_write_bio_X509(output.pointer, leaf.pointer) == 1
        written = written && PEM_write_bio_PrivateKey(output.pointer, key.pointer, nil, nil, 0, nil, nil) == 1
        for certificate in intermediates {
            written = written && PEM_write_bio_X509(output.pointer, certificate.pointer) == 1
        }
        guard written else { throw .fromQueue("the identity cannot be written as PEM") }
        return output.bytes
    }

    /// Writes ``pem()`` to a file that only its owner can read (mode 0600); an existing file is replaced at once.
    public func writePEM(to path: String) throws(TLSConfigurationError) {
        try FileAccess.write(pem(), to: path, mode: 0o600)
    }
}
