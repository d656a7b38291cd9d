import COpenSSL

/// Signatures by ES256, and its curve.
///
/// JSON Web Tokens have r and s end to end (RFC 7518 §3.4); OpenSSL verifies them in DER.
enum ES256 {
    /// Bytes of one of the two numbers.
    static let numberBytes = 32

    /// - Throws: `notES256Key` for a key of another kind or curve.
    static func expectCurve(of key: PrivateKeyHandle) throws(TLSConfigurationError) {
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC else {
            let kind = EVP_PKEY_get0_type_name(key.pointer).map { String(cString: $0) }
            throw TLSConfigurationError(.notES256Key(kind ?? "unknown"))
        }
        var name = [CChar](repeating: 0, count: 80)
        var count = 0
        let isKnown = EVP_PKEY_get_group_name(key.pointer, &name, name.count, &count) == 1
        let curve = isKnown ? String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : "unknown"
        // OpenSSL's name of P-256.
        guard curve == "prime256v1" else { throw TLSConfigurationError(.notES256Key("EC, curve \(curve)")) }
    }

    /// The signature is the key's for these bytes.
    ///
    /// - Parameters:
    ///   - signature: r and s, 32 bytes each; of another length it is none.
    ///   - key: a public key, or a private one, whose public half counts.
    static func verifies(_ signature: [UInt8], of bytes: [UInt8], by key: PrivateKeyHandle) -> Bool {
        guard let der = der(signature), let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
    }

    /// The DER form of r and s; nil if they have not 32 bytes each.
    private static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * Self.numberBytes, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = BN_bin2bn(Array(raw[..<Self.numberBytes]), Int32(Self.numberBytes), nil)
        let s = BN_bin2bn(Array(raw[Self.numberBytes...]), Int32(Self.numberBytes), nil)
        // From here the numbers are the signature's.
        guard ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        let count = Int(i2d_ECDSA_SIG(signature, nil))
        guard count > 0 else { return nil }
        var der = [UInt8](repeating: 0, count: count)
        let written = der.withUnsafeMutableBufferPointer { bytes in
            var next = bytes.baseAddress
            return Int(i2d_ECDSA_SIG(signature, &next))
        }
        return written == count ? der : nil
    }
}
