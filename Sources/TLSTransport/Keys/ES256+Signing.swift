import COpenSSL

/// Signatures whose nonce follows from key and message (RFC 6979), so that the same bytes have the same signature in
/// each process that has the key.
///
/// A nonce that comes again with another message, or of which bits are known, gives the key away. So only the nonce is
/// derived here, by HMAC as the RFC says. All arithmetic with nonce and key is OpenSSL's, in the functions that take
/// constant time and that it signs with itself: `EC_POINT_mul`, `BN_mod_exp_mont_consttime`, `ECDSA_do_sign_ex`. Two
/// things guard it: tests with the RFC's own examples, and ``ProviderKey/signature(of:)``, which verifies a signature
/// before it leaves. OpenSSL has such nonces itself from 3.2 on (`nonce-type`).
extension ES256 {
    /// Signs bytes: r and s, 32 bytes each, big-endian.
    ///
    /// - Throws: `rejected` when OpenSSL has no memory.
    static func signature(of bytes: [UInt8], by key: PrivateKeyHandle) throws(TLSConfigurationError) -> [UInt8] {
        guard let numbers = BN_CTX_secure_new() else { throw cannotSign }
        defer { BN_CTX_free(numbers) }
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { throw cannotSign }
        defer { EC_GROUP_free(curve) }
        guard let point = EC_POINT_new(curve) else { throw cannotSign }
        defer { EC_POINT_clear_free(point) }
        // All numbers go, overwritten, with their context.
        BN_CTX_start(numbers)
        defer { BN_CTX_end(numbers) }
        guard let order = EC_GROUP_get0_order(curve), let message = BN_CTX_get(numbers),
            let nonce = BN_CTX_get(numbers), let r = BN_CTX_get(numbers),
            let exponent = BN_CTX_get(numbers), let inverse = BN_CTX_get(numbers)
        else { throw cannotSign }

        var digest = [UInt8](repeating: 0, count: numberBytes)
        guard SHA256(bytes, bytes.count, &digest) != nil, BN_bin2bn(digest, Int32(digest.count), message) != nil,
            BN_nnmod(message, message, order, numbers) == 1
        else { throw cannotSign }
        BN_set_flags(nonce, BN_FLG_CONSTTIME)
        try derive(nonce, from: privateNumber(of: key) + octets(of: message), below: order)

        // r is the first coordinate of a point. The inverse is a power, as the order is a prime (Fermat).
        guard EC_POINT_mul(curve, point, nonce, nil, nil, numbers) == 1,
            EC_POINT_get_affine_coordinates(curve, point, r, nil, numbers) == 1,
            BN_nnmod(r, r, order, numbers) == 1,
            BN_copy(exponent, order) != nil, BN_sub_word(exponent, 2) == 1,
            BN_mod_exp_mont_consttime(inverse, nonce, exponent, order, numbers, nil) == 1,
            let signature = belfry_ECDSA_sign(key.pointer, digest, Int32(digest.count), inverse, r)
        else { throw cannotSign }
        defer { ECDSA_SIG_free(signature) }
        return try octets(of: ECDSA_SIG_get0_r(signature)) + octets(of: ECDSA_SIG_get0_s(signature))
    }

    /// RFC 6979 §3.2, b to h.
    ///
    /// - Parameters:
    ///   - nonce: becomes the nonce.
    ///   - seed: the private number, and the digest below the order of the curve.
    private static func derive(
        _ nonce: OpaquePointer,
        from seed: [UInt8],
        below order: OpaquePointer
    ) throws(TLSConfigurationError) {
        var key = [UInt8](repeating: 0, count: numberBytes)
        var value = [UInt8](repeating: 1, count: numberBytes)
        for round in [0, 1] as [UInt8] {
            key = try authenticated(value + [round] + seed, by: key)
            value = try authenticated(value, by: key)
        }
        while true {
            value = try authenticated(value, by: key)
            guard BN_bin2bn(value, Int32(value.count), nonce) != nil else { throw cannotSign }
            // Once in 2³² it is none.
            if BN_is_zero(nonce) == 0, BN_cmp(nonce, order) < 0 { return }
            key = try authenticated(value + [0], by: key)
            value = try authenticated(value, by: key)
        }
    }

    /// HMAC with SHA-256.
    private static func authenticated(
        _ bytes: [UInt8],
        by key: [UInt8]
    ) throws(TLSConfigurationError) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: numberBytes)
        guard HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &code, nil) != nil else {
            throw cannotSign
        }
        return code
    }

    private static func privateNumber(of key: PrivateKeyHandle) throws(TLSConfigurationError) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key.pointer, "priv", &number) == 1 else { throw cannotSign }
        defer { BN_clear_free(number) }
        return try octets(of: number)
    }

    /// A number in 32 bytes, big-endian.
    private static func octets(of number: OpaquePointer?) throws(TLSConfigurationError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: numberBytes)
        guard BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count else { throw cannotSign }
        return bytes
    }

    private static var cannotSign: TLSConfigurationError { .fromQueue("the key cannot sign") }
}
