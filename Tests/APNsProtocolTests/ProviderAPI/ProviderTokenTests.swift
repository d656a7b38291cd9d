import TestSupport
import Testing

@testable import APNsProtocol

@Suite struct ProviderTokenTests {
    static let key = ProviderKeyID(team: "DEF123GHIJ", key: "ABC123DEFG")!
    static let token = ProviderToken(key: key, issuedAt: 1_437_179_036)
    // Made with Python's base64.
    static let signingInput =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNDM3MTc5MDM2fQ"

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Base64URL.append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    static func parse(_ compact: String) -> Result<SignedProviderToken, ProviderTokenFault> {
        Array(compact.utf8).withUnsafeBytes { bytes in
            Result { () throws(ProviderTokenFault) in try SignedProviderToken(compact: bytes) }
        }
    }

    /// A token of these parts and a signature of the right size.
    static func compact(_ header: String, _ claims: String) -> String {
        [Array(header.utf8), Array(claims.utf8), [UInt8](repeating: 7, count: 64)].map(Self.text).joined(separator: ".")
    }

    @Test("base64url is that of the RFC, without padding")
    func vectors() {
        let vectors = ["f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE", "": ""]
        for (plain, text) in vectors {
            #expect(Self.text(Array(plain.utf8)) == text)
            #expect(Array(text.utf8).withUnsafeBytes { Base64URL.decode($0) } == Array(plain.utf8))
        }
        #expect(Self.text([0xFB, 0xFF, 0xBF]) == "-_-_")
    }

    @Test("All bytes come back from their text, and no other text has any")
    func roundTrip() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let bytes = random.bytes(upTo: 40)
            #expect(Array(Self.text(bytes).utf8).withUnsafeBytes { Base64URL.decode($0) } == bytes)
        }
        for text in ["Z", "Zg==", "Zg=", "Zh", "Zm9", "Zm9v!", "+/+/", " Zg", "Zg\n"] {
            #expect(Array(text.utf8).withUnsafeBytes { Base64URL.decode($0) } == nil, "\(text)")
        }
    }

    @Test("Header and claims are written as they always were")
    func writing() {
        #expect(String(decoding: Self.token.signingInput, as: UTF8.self) == Self.signingInput)
    }

    @Test("A token comes back with what was signed and the signature")
    func reading() throws {
        let signature = [UInt8](0..<64)
        let compact = Self.token.compact { input in
            #expect(input == Array(Self.signingInput.utf8))
            return signature
        }
        let signed = try Self.parse(String(decoding: compact, as: UTF8.self)).get()
        #expect(signed.token == Self.token)
        #expect(signed.signingInput == Array(Self.signingInput.utf8))
        #expect(signed.signature == signature)
    }

    @Test("Order, white space and other members do not matter")
    func otherMembers() throws {
        let compact = Self.compact(
            #"{ "typ":"JWT", "kid":"ABC123DEFG", "alg":"ES256" }"#,
            #"{"iat":1437179036,"aud":["a",{"b":1}],"iss":"DEF123GHIJ"}"#
        )
        #expect(try Self.parse(compact).get().token == Self.token)
    }

    static let faultyTokens: [(String, ProviderTokenFault)] = [
        ("", .notThreeParts), ("a.b", .notThreeParts), ("a.b.c.d", .notThreeParts), ("!.e30.AA", .notBase64URL),
        ("..", .notJSON), ("e30.e30.", .wrongAlgorithm), ("e30.W10.", .notJSON),
        (String(repeating: ".", count: 2048), .notThreeParts),
        (String(repeating: ".", count: 2049), .tooLarge(bytes: 2049)),
        (compact(#"{"alg":"none","kid":"K"}"#, #"{"iss":"T","iat":1}"#), .wrongAlgorithm),
        (compact(#"{"alg":"HS256","kid":"K"}"#, #"{"iss":"T","iat":1}"#), .wrongAlgorithm),
        (compact(#"{"alg":"ES256"}"#, #"{"iss":"T","iat":1}"#), .missing("kid")),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iat":1}"#), .missing("iss")),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T"}"#), .missing("iat")),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":"1"}"#), .notJSON),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1.5}"#), .notJSON),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1}}"#), .notJSON),
        (compact(#"{"alg":"ES256","kid":"K","kid":"K"}"#, #"{"iss":"T","iat":1}"#), .duplicate("kid")),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1,"iat":2}"#), .duplicate("iat")),
        (compact(#"{"alg":"ES256","kid":""}"#, #"{"iss":"T","iat":1}"#), .invalidID),
        (compact(#"{"alg":"ES256","kid":"K\""}"#, #"{"iss":"T","iat":1}"#), .invalidID),
        (compact(#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1}"#) + "AAAA", .wrongSignatureSize),
    ]

    @Test("A text that is no token says why", arguments: faultyTokens)
    func faults(compact: String, fault: ProviderTokenFault) {
        #expect(Self.parse(compact) == .failure(fault))
    }

    @Test("No bytes bring the reader down", arguments: 0..<10 as Range<UInt64>)
    func noise(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let whole = Array((Self.signingInput + "." + Self.text([UInt8](0..<64))).utf8)
        for _ in 0..<500 {
            var bytes = whole
            bytes[random.pick(0...bytes.count - 1)] = UInt8.random(in: 0...255, using: &random)
            if random.chance(30) { bytes.removeLast(random.pick(1...bytes.count)) }
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(ProviderTokenFault) in try SignedProviderToken(compact: bytes) }
            }
            guard case .success(let signed) = result else { continue }
            #expect(bytes.starts(with: signed.signingInput) && signed.signature.count == 64)
        }
    }

    @Test("An id is 1 to 32 letters and digits, so that it needs no escape anywhere")
    func ids() {
        #expect(ProviderKeyID(team: String(repeating: "a", count: 32), key: "Z") != nil)
        for text in ["", "a b", "a\"", "a.b", "../a", "\u{E9}", String(repeating: "a", count: 33)] {
            #expect(ProviderKeyID(team: text, key: "K") == nil && ProviderKeyID(team: "T", key: text) == nil)
        }
    }

    @Test("A token is taken from a little ahead of the clock until an hour after")
    func age() {
        let now: Int64 = 1_437_179_036
        for (issuedAt, isExpired) in [
            (now, false), (now - 3600, false), (now - 3601, true), (now + 60, false), (now + 61, true),
            (.min, true), (.max, true),
        ] as [(Int64, Bool)] {
            #expect(ProviderTokenAge.isExpired(issuedAt: issuedAt, now: now) == isExpired)
        }
    }
}
