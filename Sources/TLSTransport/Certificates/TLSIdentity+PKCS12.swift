import COpenSSL

extension TLSIdentity {
    /// Reads a PKCS#12 file, see ``init(pkcs12:passphrase:)``.
    ///
    /// - Throws: ``TLSConfigurationError`` with the file's name.
    public init(pkcs12File path: String, passphrase: String?) throws(TLSConfigurationError) {
        let bytes = try FileAccess.read(path)
        do {
            try self.init(pkcs12: bytes, passphrase: passphrase)
        } catch {
            throw error.inFile(path)
        }
    }

    /// Reads a PKCS#12 container: certificate, private key and any intermediates.
    ///
    /// The old ciphers of exports from keychains (RC2, triple DES) are read too. They are in OpenSSL's legacy provider,
    /// which is loaded with the first container that needs it.
    ///
    /// - Parameter passphrase: nil or empty: the container has none. Some tools then derive its keys from no password
    ///   at all, others from an empty text (RFC 7292 §B.1); both are read.
    /// - Throws: `notPKCS12`, `passphraseMissing`, `wrongPassphrase`, `noCertificate`, `noPrivateKey`,
    ///   `keyDoesNotMatchCertificate` or `rejected`.
    public init(pkcs12 bytes: [UInt8], passphrase: String?) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        let input = MemoryBIO(copying: bytes)
        guard let container = d2i_PKCS12_bio(input.pointer, nil) else {
            throw TLSConfigurationError(.notPKCS12, openSSLErrors: OpenSSLError.drainQueue().map(\.text))
        }
        defer { PKCS12_free(container) }
        guard Self.opens(container, passphrase) else {
            let errors = OpenSSLError.drainQueue()
            // An unknown digest and a wrong passphrase both fail here; only the latter leaves this reason.
            throw TLSConfigurationError(
                errors.isEmpty || errors.contains { $0.reason == PKCS12_R_MAC_VERIFY_FAILURE }
                    ? (passphrase == nil ? .passphraseMissing : .wrongPassphrase)
                    : .rejected("its integrity cannot be checked: \(errors[0].text)"),
                openSSLErrors: errors.map(\.text)
            )
        }

        var contents: Contents
        do {
            contents = try Contents(container, passphrase: passphrase)
        } catch {
            guard LegacyProvider.isLoaded else { throw error }
            contents = try Contents(container, passphrase: passphrase)
        }
        guard let leaf = contents.leaf else { throw TLSConfigurationError(.noCertificate) }
        guard let key = contents.key else { throw TLSConfigurationError(.noPrivateKey) }
        try self.init(leaf: leaf, key: key, intermediates: contents.others)
    }

    private static func opens(_ container: OpaquePointer, _ passphrase: String?) -> Bool {
        if let passphrase, !passphrase.isEmpty { return PKCS12_verify_mac(container, passphrase, -1) == 1 }
        return PKCS12_verify_mac(container, nil, 0) == 1 || PKCS12_verify_mac(container, "", 0) == 1
    }

    /// The identity as a PKCS#12 container (AES-256, PBKDF2, SHA-256: OpenSSL 3's format, accepted by today's readers).
    ///
    /// - Parameter passphrase: nil: no password at all, which is not the empty one.
    public func pkcs12(passphrase: String?) throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let created: OpaquePointer? = withPassphrase(passphrase) {
            PKCS12_create($0, certificate.commonName, key.pointer, leaf.pointer, nil, 0, 0, 0, 0, 0)
        }
        guard let container = created else { throw .fromQueue("the identity cannot be written as PKCS#12") }
        defer { PKCS12_free(container) }
        let output = MemoryBIO()
        guard i2d_PKCS12_bio(output.pointer, container) == 1 else {
            throw .fromQueue("the identity cannot be written as PKCS#12")
        }
        return output.bytes
    }

    /// Writes ``pkcs12(passphrase:)`` to a file that only its owner can read (mode 0600).
    public func writePKCS12(to path: String, passphrase: String?) throws(TLSConfigurationError) {
        try FileAccess.write(pkcs12(passphrase: passphrase), to: path, mode: 0o600)
    }
}

/// Calls `body` with the passphrase as a C string; null: there is none.
private func withPassphrase<Value>(_ passphrase: String?, _ body: (UnsafePointer<CChar>?) -> Value) -> Value {
    guard let passphrase else { return body(nil) }
    return passphrase.withCString { body($0) }
}

/// The contents of a container; the caller owns the pieces that OpenSSL returns.
private struct Contents {
    var leaf: CertificateHandle?
    var key: PrivateKeyHandle?
    var others: [CertificateHandle] = []

    /// - Parameter passphrase: nil or empty: OpenSSL tries both forms of none itself.
    init(_ container: OpaquePointer, passphrase: String?) throws(TLSConfigurationError) {
        OpenSSLError.clearQueue()
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var stack: OpaquePointer?
        let isRead = withPassphrase(passphrase) { PKCS12_parse(container, $0, &key, &leaf, &stack) == 1 }
        guard isRead else { throw .fromQueue("its contents cannot be read") }
        self.leaf = leaf.map(CertificateHandle.init(owning:))
        self.key = key.map(PrivateKeyHandle.init(owning:))
        guard let stack else { return }
        defer { belfry_X509_stack_free(stack) }
        for index in 0..<belfry_X509_stack_count(stack) {
            guard let certificate = belfry_X509_stack_value(stack, index) else { continue }
            X509_up_ref(certificate)
            others.append(CertificateHandle(owning: certificate))
        }
    }
}

/// Provider of the ciphers of old PKCS#12 exports, separate since OpenSSL 3.
private enum LegacyProvider {
    /// The provider is loaded, on first use and for good. Loading a provider by name disables the implied default one,
    /// so that is loaded too.
    static let isLoaded: Bool =
        OSSL_PROVIDER_load(nil, "default") != nil && OSSL_PROVIDER_load(nil, "legacy") != nil
}
