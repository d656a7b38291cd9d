import COpenSSL

/// The token key's cipher: 32 bytes to 32 bytes. Every bit of the output depends on every bit of the input, in both
/// directions.
///
/// The push service mints device tokens with it and recognises its own by a check value inside. Two AES-256 blocks in
/// plain CBC would not do: a bit flipped in the first block flips the same bit of the second one's plaintext, which a
/// forger could aim at. So the blocks are chained forth and back again [ours]:
///
///     X1 = E(P1)        X2 = E(P2 ^ X1)        forth
///     C2 = E(X2)        C1 = E(X1 ^ C2)        and back
///
/// Any change of a token garbles all 32 bytes, so *n* check bytes anywhere in the plaintext let a forgery through with
/// a chance of 2⁻⁸ⁿ. It is deterministic: equal plaintexts give equal tokens, as they must.
///
/// Decrypting costs two passes over two independent blocks, encrypting four dependent ones. One instance per thread:
/// it works in OpenSSL contexts of its own.
public final class TokenCipher {
    public static let keyBytes = 32
    /// The size of a token and of its plaintext.
    public static let tokenBytes = 32

    private static let blockBytes = 16
    /// Tokens decrypted at once: the scratch blocks fit into a kilobyte of the stack.
    private static let batchTokens = 64
    private let encryption: OpaquePointer
    private let decryption: OpaquePointer

    /// - Parameter key: 32 bytes, see ``DevelopmentPKI/tokenKey()``.
    public init(key: [UInt8]) {
        precondition(key.count == Self.keyBytes, "an AES-256 key has 32 bytes")
        encryption = Self.makeContext(key, encrypts: true)
        decryption = Self.makeContext(key, encrypts: false)
    }

    deinit {
        EVP_CIPHER_CTX_free(encryption)
        EVP_CIPHER_CTX_free(decryption)
    }

    /// Encrypts 32 bytes in place.
    public func encrypt(_ bytes: UnsafeMutableRawBufferPointer) {
        let (first, second) = Self.halves(bytes)
        run(encryption, first, Self.blockBytes)
        Self.xor(second, with: first)
        run(encryption, second, Self.blockBytes)
        run(encryption, second, Self.blockBytes)
        Self.xor(first, with: second)
        run(encryption, first, Self.blockBytes)
    }

    /// Decrypts 32 bytes in place. Succeeds for any bytes: the caller checks the result.
    public func decrypt(_ bytes: UnsafeMutableRawBufferPointer) {
        let (first, second) = Self.halves(bytes)
        // C2 is needed after it has been overwritten.
        let c2 = second.loadUnaligned(as: SIMD16<UInt8>.self)
        run(decryption, first, Self.tokenBytes)
        let x1 = first.loadUnaligned(as: SIMD16<UInt8>.self) ^ c2
        first.storeBytes(of: x1, as: SIMD16<UInt8>.self)
        run(decryption, first, Self.tokenBytes)
        second.storeBytes(of: second.loadUnaligned(as: SIMD16<UInt8>.self) ^ x1, as: SIMD16<UInt8>.self)
    }

    /// Decrypts adjacent tokens in place. Several times faster than one by one, because the processor works on many
    /// blocks at once.
    ///
    /// - Parameter bytes: a multiple of ``tokenBytes``; other lengths trap.
    public func decryptAll(_ bytes: UnsafeMutableRawBufferPointer) {
        precondition(bytes.count.isMultiple(of: Self.tokenBytes), "tokens have 32 bytes each")
        guard var tokens = bytes.baseAddress else { return }
        var left = bytes.count / Self.tokenBytes
        withUnsafeTemporaryAllocation(byteCount: Self.batchTokens * Self.blockBytes, alignment: 16) { scratch in
            guard let scratch = scratch.baseAddress else { return }
            while left > 0 {
                let count = min(left, Self.batchTokens)
                decryptBatch(tokens, count, scratch)
                tokens += count * Self.tokenBytes
                left -= count
            }
        }
    }

    /// - Parameter scratch: a block for each token.
    private func decryptBatch(_ tokens: UnsafeMutableRawPointer, _ count: Int, _ scratch: UnsafeMutableRawPointer) {
        for index in 0..<count {
            // C2 is needed after it has been overwritten.
            let c2 = (tokens + index * Self.tokenBytes + Self.blockBytes).loadUnaligned(as: SIMD16<UInt8>.self)
            (scratch + index * Self.blockBytes).storeBytes(of: c2, as: SIMD16<UInt8>.self)
        }
        run(decryption, tokens, count * Self.tokenBytes)
        for index in 0..<count {
            let (first, saved) = (tokens + index * Self.tokenBytes, scratch + index * Self.blockBytes)
            Self.xor(first, with: saved)
            saved.copyMemory(from: first, byteCount: Self.blockBytes)
        }
        run(decryption, tokens, count * Self.tokenBytes)
        for index in 0..<count {
            let second = tokens + index * Self.tokenBytes + Self.blockBytes
            Self.xor(second, with: scratch + index * Self.blockBytes)
        }
    }

    private static func makeContext(_ key: [UInt8], encrypts: Bool) -> OpaquePointer {
        guard
            let context = EVP_CIPHER_CTX_new(),
            EVP_CipherInit_ex(context, EVP_aes_256_ecb(), nil, key, nil, encrypts ? 1 : 0) == 1,
            // Whole blocks only: nothing is held back in the context.
            EVP_CIPHER_CTX_set_padding(context, 0) == 1
        else { preconditionFailure("OpenSSL has no AES-256") }
        return context
    }

    private static func halves(
        _ bytes: UnsafeMutableRawBufferPointer
    ) -> (first: UnsafeMutableRawPointer, second: UnsafeMutableRawPointer) {
        guard let first = bytes.baseAddress, bytes.count == Self.tokenBytes else {
            preconditionFailure("a token has 32 bytes")
        }
        return (first, first + Self.blockBytes)
    }

    private static func xor(_ target: UnsafeMutableRawPointer, with source: UnsafeMutableRawPointer) {
        let result = target.loadUnaligned(as: SIMD16<UInt8>.self) ^ source.loadUnaligned(as: SIMD16<UInt8>.self)
        target.storeBytes(of: result, as: SIMD16<UInt8>.self)
    }

    private func run(_ context: OpaquePointer, _ bytes: UnsafeMutableRawPointer, _ count: Int) {
        var written: Int32 = 0
        let block = bytes.assumingMemoryBound(to: UInt8.self)
        guard EVP_CipherUpdate(context, block, &written, block, Int32(count)) == 1, written == count else {
            preconditionFailure("AES on whole blocks cannot fail")
        }
    }
}

@available(*, unavailable)
extension TokenCipher: Sendable {}
