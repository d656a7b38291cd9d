/// A provider token without its signature: which key, and when [later].
///
/// On the wire it is a JSON Web Token (RFC 7519) in compact form, `header.claims.signature`, each part in base64url:
///
///     {"alg":"ES256","kid":"<key id>"} . {"iss":"<team id>","iat":<UNIX seconds>} . r and s, 32 bytes each
public struct ProviderToken: Hashable, Sendable {
    /// The longest compact form that is read, in bytes [ours]. Ours have about 200.
    public static let limitBytes = 2048
    /// The size of a signature by ES256 (RFC 7518 §3.4).
    public static let signatureBytes = 64

    public let key: ProviderKeyID
    /// UNIX seconds.
    public let issuedAt: Int64

    public init(key: ProviderKeyID, issuedAt: Int64) {
        self.key = key
        self.issuedAt = issuedAt
    }

    // MARK: Writing

    /// Header and claims in compact form: the bytes that are signed.
    public var signingInput: [UInt8] {
        var text: [UInt8] = []
        Base64URL.append(Array("{\"alg\":\"ES256\",\"kid\":\"\(key.key)\"}".utf8), to: &text)
        text.append(UInt8(ascii: "."))
        Base64URL.append(Array("{\"iss\":\"\(key.team)\",\"iat\":\(issuedAt)}".utf8), to: &text)
        return text
    }

    /// The whole token in compact form, ASCII.
    ///
    /// - Parameter sign: the signature of the bytes, ``signatureBytes`` bytes: r and s. Another length traps.
    public func compact<Failure: Error>(
        signedBy sign: ([UInt8]) throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        var text = signingInput
        let signature = try sign(text)
        precondition(signature.count == Self.signatureBytes, "a signature by ES256 has \(Self.signatureBytes) bytes")
        text.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &text)
        return text
    }
}
