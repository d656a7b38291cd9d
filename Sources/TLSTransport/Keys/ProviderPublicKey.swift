import COpenSSL

/// A key that verifies provider tokens, see ``ProviderKey``.
///
/// Values are immutable and cheap to copy; any thread may use them.
public struct ProviderPublicKey: Sendable {
    private let handle: PrivateKeyHandle

    /// Reads a public key as PEM, as `openssl ec -pubout` writes it.
    ///
    /// - Throws: `noPublicKey` or `notES256Key`.
    public init(pem: [UInt8]) throws(TLSConfigurationError) {
        let key = try PEM.publicKey(in: pem)
        try ES256.expectCurve(of: key)
        handle = key
    }

    /// The key as PEM.
    public func pem() throws(TLSConfigurationError) -> [UInt8] {
        OpenSSLError.clearQueue()
        let output = MemoryBIO()
        guard PEM_write_bio_PUBKEY(output.pointer, handle.pointer) == 1 else {
            throw .fromQueue("the public key cannot be written as PEM")
        }
        return output.bytes
    }

    /// The signature is this key's for these bytes. About 80 µs.
    ///
    /// - Parameter signature: r and s, 32 bytes each; of another length it is none.
    public func verifies(signature: [UInt8], of bytes: [UInt8]) -> Bool {
        OpenSSLError.clearQueue()
        defer { OpenSSLError.clearQueue() }
        return ES256.verifies(signature, of: bytes, by: handle)
    }
}
