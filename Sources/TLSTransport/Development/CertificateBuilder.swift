import COpenSSL

/// Assembles and signs an X.509 v3 certificate with a fresh P-256 key.
struct CertificateBuilder {
    /// An extension that OpenSSL has no name for.
    struct Marking {
        let oid: String
        /// The value, encoded.
        let der: [UInt8]

        /// A marking whose value is an ASN.1 NULL: its presence is the statement.
        static func presence(of oid: String) -> Marking {
            Marking(oid: oid, der: [0x05, 0x00])
        }
    }

    /// The subject's attributes by OpenSSL's numeric identifier, in order.
    var subject: [(nid: Int32, text: String)] = []
    /// Standard extensions, written as in `openssl.cnf`, in order.
    var extensions: [(nid: Int32, value: String)] = []
    /// Extensions by object identifier, in order.
    var markings: [Marking] = []
    /// First and last second of validity, UNIX seconds UTC.
    var validity: ClosedRange<Int64>

    /// Signs with `issuer`, or with the new key itself (a root).
    func issue(by issuer: TLSIdentity?) throws(TLSConfigurationError) -> TLSIdentity {
        OpenSSLError.clearQueue()
        guard let rawKey = belfry_generate_P256_key(), let rawCertificate = X509_new() else {
            throw .fromQueue("no key can be generated")
        }
        let key = PrivateKeyHandle(owning: rawKey)
        let certificate = CertificateHandle(owning: rawCertificate)
        let issuerCertificate = issuer?.leaf ?? certificate

        guard
            X509_set_version(certificate.pointer, Int(X509_VERSION_3)) == 1,
            Self.setRandomSerial(of: certificate.pointer),
            ASN1_TIME_set(X509_getm_notBefore(certificate.pointer), Int(validity.lowerBound)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate.pointer), Int(validity.upperBound)) != nil,
            X509_set_pubkey(certificate.pointer, key.pointer) == 1,
            addSubject(to: certificate.pointer),
            X509_set_issuer_name(certificate.pointer, X509_get_subject_name(issuerCertificate.pointer)) == 1,
            addExtensions(to: certificate.pointer, issuer: issuerCertificate.pointer),
            X509_sign(certificate.pointer, issuer?.key.pointer ?? key.pointer, EVP_sha256()) > 0
        else { throw .fromQueue("the certificate cannot be made") }
        return try TLSIdentity(leaf: certificate, key: key, intermediates: [])
    }

    /// 16 random bytes, positive, as RFC 5280 §4.1.2.2 requires (at most 20, unique per issuer).
    private static func setRandomSerial(of certificate: OpaquePointer) -> Bool {
        guard let number = BN_new() else { return false }
        defer { BN_free(number) }
        // The top bit set, so that the size is always the same; BN numbers are not signed.
        return BN_rand(number, 127, 0, 0) == 1
            && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    private func addSubject(to certificate: OpaquePointer) -> Bool {
        let name = X509_get_subject_name(certificate)
        return subject.allSatisfy { attribute in
            // Given as UTF8String rather than as MBSTRING_UTF8: OpenSSL then does not cut common names at the 64
            // characters of X.520, which bundle IDs exceed in Apple's own certificates.
            let bytes = Array(attribute.text.utf8)
            return X509_NAME_add_entry_by_NID(
                name,
                attribute.nid,
                V_ASN1_UTF8STRING,
                bytes,
                Int32(bytes.count),
                -1,
                0
            ) == 1
        }
    }

    private func addExtensions(to certificate: OpaquePointer, issuer: OpaquePointer) -> Bool {
        extensions.allSatisfy { belfry_X509_add_extension(certificate, issuer, $0.nid, $0.value) == 1 }
            && markings.allSatisfy { Self.add($0, to: certificate) }
    }

    private static func add(_ marking: Marking, to certificate: OpaquePointer) -> Bool {
        guard let object = OBJ_txt2obj(marking.oid, 1), let value = ASN1_OCTET_STRING_new() else { return false }
        defer {
            ASN1_OBJECT_free(object)
            ASN1_OCTET_STRING_free(value)
        }
        guard
            ASN1_OCTET_STRING_set(value, marking.der, Int32(marking.der.count)) == 1,
            let addition = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { return false }
        defer { X509_EXTENSION_free(addition) }
        return X509_add_ext(certificate, addition, -1) == 1
    }
}
