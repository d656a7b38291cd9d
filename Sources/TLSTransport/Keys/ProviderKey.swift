import COpenSSL

/// A key that signs provider tokens: ES256, which is ECDSA on the curve P-256 over SHA-256 (RFC 7518 §3.4).
///
/// Values are immutable and cheap to copy; any thread may use them. Nothing here prints key material.
public struct ProviderKey: Sendable {
    private let handle: PrivateKeyHandle

    /// Makes a new key.
    ///
    /// - Throws: `rejected` when OpenSSL has no randomness.
    public static func generate() throws(TLSConfigurationError) -> ProviderKey {
        OpenSSLError.clearQueue()
        guard let key = belfry_generate_P256_key() else { throw .fromQueue("no key can be generated") }
        return ProviderKey(handle: PrivateKeyHandle(owning: key))
    }

    /// Reads a `.p8` file, see ``init(pem:)``.
    ///
    /// - Throws: ``TLSConfigurationError`` with the file's name.
    public init(file path: String) throws(TLSConfigurationError) {
        let bytes = try FileAccess.read(path)
        do {
            try self.init(pem: bytes)
        } catch {
            throw error.inFile(path)
        }
    }

    /// Reads the content of a `.p8` file: a private key as PEM, not encrypted, as Apple hands it out.
    ///
    /// - Throws: `noPrivateKey`, `passphraseMissing`, `notES256Key` or `rejected`.
    public init(pem: [UInt8]) throws(TLSConfigurationError) {
        let key = try PEM.privateKey(in: pem, passphrase: nil)
        try ES256.expectCurve(of: key)
        handle = key
    }

    private init(handle: PrivateKeyHandle) {
        self.handle = handle
    }

    /// Signs bytes: r and s, 32 bytes each, big-endian; the same ones for the same bytes (RFC 6979). About 200 µs.
    ///
    /// - Throws: `rejected` when OpenSSL has no memory, or the machine miscalculates.
    public func signature(of bytes: [UInt8]) throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let signature = try ES256.signature(of: bytes, by: handle)
        // A wrong signature beside the right one with the same nonce gives the key away: neither leaves.
        guard ES256.verifies(signature, of: bytes, by: handle) else {
            throw .fromQueue("the key cannot sign: its signature is wrong")
        }
        return signature
    }

    /// The half of the key that verifies.
    public var publicKey: ProviderPublicKey {
        get throws(TLSConfigurationError) {
            OpenSSLError.clearQueue()
            let output = MemoryBIO()
            guard PEM_write_bio_PUBKEY(output.pointer, handle.pointer) == 1 else {
                throw .fromQueue("the public key cannot be written as PEM")
            }
            return try ProviderPublicKey(pem: output.bytes)
        }
    }

    /// The key as PEM (PKCS#8, not encrypted). A secret: see ``writePEM(to:)``.
    public func pem() throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let output = MemoryBIO()
        guard PEM_write_bio_PrivateKey(output.pointer, handle.pointer, nil, nil, 0, nil, nil) == 1 else {
            throw .fromQueue("the key cannot be written as PEM")
        }
        return output.bytes
    }

    /// Writes ``pem()`` to a file that only its owner can read (mode 0600); an existing file is replaced at once.
    public func writePEM(to path: String) throws(TLSConfigurationError) {
        try FileAccess.write(pem(), to: path, mode: 0o600)
    }
}

extension ProviderKey: Equatable {
    /// The same key pair, whichever files it came from.
    public static func == (left: ProviderKey, right: ProviderKey) -> Bool {
        // OpenSSL compares the public halves.
        EVP_PKEY_eq(left.handle.pointer, right.handle.pointer) == 1
    }
}

extension ProviderKey: CustomStringConvertible {
    /// Nothing of the key itself.
    public var description: String { "a key for ES256" }
}
