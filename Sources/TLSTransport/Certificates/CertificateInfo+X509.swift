import COpenSSL
import Glibc

/// Object identifiers of the extensions in push certificates [field].
enum PushExtension {
    static let development = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    static let topics = "1.2.840.113635.100.6.3.6"
    /// The same of VoIP Services [later].
    static let voipTopics = "1.2.840.113635.100.6.3.4"
}

extension CertificateInfo {
    /// Reads the first certificate of a file, in PEM or DER; nil: there is none.
    ///
    /// - Throws: `rejected` for a block in PEM that does not decode.
    public static func first(in bytes: [UInt8]) throws(TLSConfigurationError) -> CertificateInfo? {
        guard let handle = try PEM.certificates(in: bytes).first ?? certificate(der: bytes) else { return nil }
        return withExtendedLifetime(handle) { CertificateInfo(x509: $0.pointer) }
    }

    private static func certificate(der: [UInt8]) -> CertificateHandle? {
        let input = MemoryBIO(copying: der)
        defer { OpenSSLError.clearQueue() }
        return d2i_X509_bio(input.pointer, nil).map(CertificateHandle.init(owning:))
    }

    /// Reads an `X509`, which stays the caller's.
    init(x509: OpaquePointer) {
        let commonName = Self.subjectText(of: x509, nid: NID_commonName) ?? ""
        let topic = Self.topic(userID: Self.subjectText(of: x509, nid: NID_userId), commonName: commonName)

        var environments: Environments = []
        if Self.extensionValue(of: x509, oid: PushExtension.development) != nil { environments.insert(.development) }
        if Self.extensionValue(of: x509, oid: PushExtension.production) != nil { environments.insert(.production) }

        let listed = [PushExtension.topics, PushExtension.voipTopics].flatMap { oid in
            Self.extensionValue(of: x509, oid: oid).map(Self.topics(inExtension:)) ?? []
        }
        self.init(
            topic: topic,
            topics: listed.isEmpty || Self.isVoIP(commonName: commonName) ? (topic.map { [$0] } ?? []) : listed,
            environments: environments.isEmpty ? Self.environments(inCommonName: commonName) : environments,
            commonName: commonName,
            serialHex: Self.hex(of: X509_get0_serialNumber(x509)),
            notBefore: Self.seconds(X509_get0_notBefore(x509)),
            notAfter: Self.seconds(X509_get0_notAfter(x509)),
            device: DeviceSubject.device(
                unit: Self.subjectText(of: x509, nid: NID_organizationalUnitName),
                commonName: commonName
            )
        )
    }

    private static func subjectText(of x509: OpaquePointer, nid: Int32) -> String? {
        text(in: X509_get_subject_name(x509), nid: nid)
    }

    /// A subject's or issuer's name for people: its common name, else all of it.
    static func name(_ name: OpaquePointer?) -> String {
        if let commonName = text(in: name, nid: NID_commonName) { return commonName }
        guard let name, let line = X509_NAME_oneline(name, nil, 0) else { return "(no name)" }
        defer { CRYPTO_free(line, #file, #line) }
        return line.pointee == 0 ? "(no name)" : String(cString: line)
    }

    /// The first attribute of a kind in a name, as UTF-8; `nil` when it is not there or empty.
    private static func text(in name: OpaquePointer?, nid: Int32) -> String? {
        guard let name else { return nil }
        let index = X509_NAME_get_index_by_NID(name, nid, -1)
        guard index >= 0, let data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)) else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let count = ASN1_STRING_to_UTF8(&utf8, data)
        guard count > 0, let utf8 else { return nil }
        defer { CRYPTO_free(utf8, #file, #line) }
        return String(decoding: UnsafeBufferPointer(start: utf8, count: Int(count)), as: UTF8.self)
    }

    private static func extensionValue(of x509: OpaquePointer, oid: String) -> [UInt8]? {
        guard let object = OBJ_txt2obj(oid, 1) else { return nil }
        defer { ASN1_OBJECT_free(object) }
        let index = X509_get_ext_by_OBJ(x509, object, -1)
        guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(x509, index)) else { return nil }
        return [UInt8](
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
        )
    }

    /// A serial number in the form of ``serialHex``; empty when it cannot be read.
    static func hex(of serial: UnsafePointer<ASN1_INTEGER>?) -> String {
        guard
            let number = ASN1_INTEGER_to_BN(serial, nil),
            let hex = BN_bn2hex(number)
        else { return "" }
        defer {
            BN_free(number)
            CRYPTO_free(hex, #file, #line)
        }
        // BN_bn2hex writes whole bytes.
        let digits = String(cString: hex).drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
    }

    /// UNIX seconds of a certificate's date; 0 when it cannot be read, as OpenSSL will not accept it either.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }
}
