/// A provider token as it came from a peer. Its form is right, its signature not yet verified.
public struct SignedProviderToken: Hashable, Sendable {
    public let token: ProviderToken
    /// Header and claims in compact form: the signed bytes.
    public let signingInput: [UInt8]
    /// r and s: ``ProviderToken/signatureBytes`` bytes.
    public let signature: [UInt8]

    /// Reads a token's compact form.
    ///
    /// - Throws: the first fault.
    public init(compact: UnsafeRawBufferPointer) throws(ProviderTokenFault) {
        guard compact.count <= ProviderToken.limitBytes else { throw .tooLarge(bytes: compact.count) }
        let parts = compact.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .notThreeParts }
        let header = try Self.fields(parts[0])
        let claims = try Self.fields(parts[1])
        guard header.texts["alg"] == "ES256" else { throw .wrongAlgorithm }
        guard let key = header.texts["kid"] else { throw .missing("kid") }
        guard let team = claims.texts["iss"] else { throw .missing("iss") }
        guard let issuedAt = claims.issuedAt else { throw .missing("iat") }
        guard let id = ProviderKeyID(team: team, key: key) else { throw .invalidID }
        guard let signature = Base64URL.decode(UnsafeRawBufferPointer(rebasing: parts[2])) else {
            throw .notBase64URL
        }
        guard signature.count == ProviderToken.signatureBytes else { throw .wrongSignatureSize }
        token = ProviderToken(key: id, issuedAt: issuedAt)
        signingInput = Array(compact[..<(parts[2].startIndex - 1)])
        self.signature = signature
    }

    /// The members of one part that matter: texts by their keys, and `iat`.
    private struct Fields {
        var texts: [String: String] = [:]
        var issuedAt: Int64?
        var duplicate: String?

        mutating func add(_ key: String, _ value: String) {
            if texts.updateValue(value, forKey: key) != nil { duplicate = key }
        }

        mutating func add(issuedAt value: Int64) {
            if issuedAt != nil { duplicate = "iat" }
            issuedAt = value
        }
    }

    private static func fields(_ part: Slice<UnsafeRawBufferPointer>) throws(ProviderTokenFault) -> Fields {
        guard let json = Base64URL.decode(UnsafeRawBufferPointer(rebasing: part)) else { throw .notBase64URL }
        let result = json.withUnsafeBytes { bytes in
            Result<Fields, JSONFault> { () throws(JSONFault) -> Fields in try Self.fields(of: bytes) }
        }
        guard case .success(let fields) = result else { throw .notJSON }
        if let duplicate = fields.duplicate { throw .duplicate(duplicate) }
        return fields
    }

    private static func fields(of json: UnsafeRawBufferPointer) throws(JSONFault) -> Fields {
        var fields = Fields()
        var reader = JSONReader(json)
        try reader.readObject { reader, key throws(JSONFault) in
            switch key {
            case "alg", "kid", "iss": fields.add(key, try reader.readString())
            case "iat": fields.add(issuedAt: try reader.readWholeNumber())
            default: try reader.skipValue()
            }
        }
        try reader.readEnd()
        return fields
    }
}

/// The reason why bytes are no provider token.
public enum ProviderTokenFault: Error, Hashable, Sendable {
    case tooLarge(bytes: Int)
    /// Not header, claims and signature between full stops.
    case notThreeParts
    case notBase64URL
    /// Header or claims are not a JSON object whose `iat` is a whole number and whose other known members are texts.
    case notJSON
    /// This member is there twice.
    case duplicate(String)
    /// This member is absent.
    case missing(String)
    /// The algorithm is not ES256, or absent.
    case wrongAlgorithm
    /// Key or team have an id that none has.
    case invalidID
    case wrongSignatureSize
}
