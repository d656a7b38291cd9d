import COpenSSL

/// PEM reading that distinguishes an absent object from a broken one.
enum PEM {
    /// All certificates, in order; none is not an error here.
    ///
    /// - Throws: `rejected` for a certificate block that does not decode.
    static func certificates(in pem: [UInt8]) throws(TLSConfigurationError) -> [CertificateHandle] {
        OpenSSLError.clearQueue()
        let input = MemoryBIO(copying: pem)
        var certificates: [CertificateHandle] = []
        while let certificate = PEM_read_bio_X509(input.pointer, nil, refusePassphrase, nil) {
            certificates.append(CertificateHandle(owning: certificate))
        }
        try Self.expectEnd("a certificate in it is damaged")
        return certificates
    }

    /// All revocation lists, in order; none is not an error here.
    ///
    /// - Throws: `rejected` for a block that does not decode.
    static func revocationLists(in pem: [UInt8]) throws(TLSConfigurationError) -> [RevocationList] {
        OpenSSLError.clearQueue()
        let input = MemoryBIO(copying: pem)
        var lists: [RevocationList] = []
        while let list = PEM_read_bio_X509_CRL(input.pointer, nil, refusePassphrase, nil) {
            lists.append(RevocationList(owning: list))
        }
        try Self.expectEnd("the revocation list in it is damaged")
        return lists
    }

    /// Expects the end of the input, reported as a missing start line; any other error is a damaged block.
    private static func expectEnd(_ damage: String) throws(TLSConfigurationError) {
        let errors = OpenSSLError.drainQueue()
        guard let error = errors.last, error.library == ERR_LIB_PEM, error.reason == PEM_R_NO_START_LINE else {
            throw TLSConfigurationError(
                .rejected("\(damage): \(errors.first?.text ?? "no reason given")"),
                openSSLErrors: errors.map(\.text)
            )
        }
    }

    /// The first private key, in any of the forms that OpenSSL reads (PKCS#8, PKCS#8 encrypted, EC, RSA).
    static func privateKey(in pem: [UInt8], passphrase: String?) throws(TLSConfigurationError) -> PrivateKeyHandle {
        OpenSSLError.clearQueue()
        let input = MemoryBIO(copying: pem)
        var key: OpaquePointer?
        if let passphrase {
            // Without a callback OpenSSL takes the argument for the passphrase itself, a C string.
            key = passphrase.withCString {
                PEM_read_bio_PrivateKey(input.pointer, nil, nil, UnsafeMutableRawPointer(mutating: $0))
            }
        } else {
            key = PEM_read_bio_PrivateKey(input.pointer, nil, refusePassphrase, nil)
        }
        if let key { return PrivateKeyHandle(owning: key) }

        let errors = OpenSSLError.drainQueue()
        let reason: TLSConfigurationError.Reason =
            if errors.contains(where: { $0.library == ERR_LIB_PEM && $0.reason == PEM_R_BAD_PASSWORD_READ }) {
                .passphraseMissing
            } else if passphrase != nil, errors.contains(where: \.isFailedDecryption) {
                .wrongPassphrase
            } else if errors.contains(where: { !$0.isNoObject }) {
                .rejected("the private key in it is damaged: \(errors[0].text)")
            } else {
                .noPrivateKey
            }
        throw TLSConfigurationError(reason, openSSLErrors: errors.map(\.text))
    }

    /// The first public key.
    static func publicKey(in pem: [UInt8]) throws(TLSConfigurationError) -> PrivateKeyHandle {
        OpenSSLError.clearQueue()
        let input = MemoryBIO(copying: pem)
        guard let key = PEM_read_bio_PUBKEY(input.pointer, nil, refusePassphrase, nil) else {
            throw TLSConfigurationError(.noPublicKey, openSSLErrors: OpenSSLError.drainQueue().map(\.text))
        }
        return PrivateKeyHandle(owning: key)
    }
}

extension OpenSSLError {
    /// The error is that of a wrong passphrase: bad padding, a PKCS#12 cipher that fails to finish, or, once in some
    /// hundred passphrases, bytes with good padding that are no key.
    fileprivate var isFailedDecryption: Bool {
        [ERR_LIB_PROV, ERR_LIB_EVP, ERR_LIB_PKCS12, ERR_LIB_ASN1].contains(library)
    }

    /// The PEM reader, or the decoder beneath it, found no such object.
    fileprivate var isNoObject: Bool {
        (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE)
            || (library == ERR_LIB_OSSL_DECODER && reason == ERR_R_UNSUPPORTED)
    }
}

/// Stands in for OpenSSL's own passphrase callback, which would ask on the terminal.
private func refusePassphrase(
    _ target: UnsafeMutablePointer<CChar>?,
    _ capacity: Int32,
    _ isForWriting: Int32,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
