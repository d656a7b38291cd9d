import PipelineCore
import PushSchemas
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Tokens that somebody makes who knows the code and no key.
enum CraftedTokens {
    /// Tokens of one tag and one bucket of 256 in layout 2.
    static func make(_ count: Int, tag: Int) -> [[UInt8]] {
        var random = SeededGenerator(seed: 17)
        var tokens: [[UInt8]] = []
        while tokens.count < count {
            var token = random.bytes(31)
            // The last byte makes the sum's lowest byte 0.
            let hash = token.withUnsafeBytes { TokenBuckets.polynomial($0) } &* 65_599
            token.append(UInt8(truncatingIfNeeded: 0 &- hash))
            if PlaceRule.unkeyed.place(of: token).tag == tag { tokens.append(token) }
        }
        return tokens
    }
}

/// The places of tokens are a contract: other programs read the same Redis.
@Suite struct PlaceRuleTests {
    private static let token = [UInt8](0..<32)
    /// Of the test vectors: the key 00 01 … 0F.
    private static let rule = PlaceRule.keyed(SipHash(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908))

    @Test("With a key the digest's first byte is the tag, its last three the hash, which stands before the token")
    func keyed() {
        // The digest is 71 27 51 2F 72 F2 7C CE, as SipHashTests has it.
        #expect(Self.rule.layout == .keyed)
        #expect(Self.rule.place(of: Self.token) == TokenPlace(tag: 0x71, hash: 0xF2_7CCE))
        #expect(Self.rule.field(of: Self.token) == [0xCE, 0x7C, 0xF2] + Self.token)
        let field = Self.rule.field(of: Self.token)
        #expect(field.withUnsafeBytes { TokenLayout.keyed.token(ofField: $0) } == Self.token)
    }

    @Test("Without one they are those of CRC-32 and the polynomial, and the field is the token")
    func unkeyed() {
        // The check value of CRC-32/ISO-HDLC: "123456789" has 0xCBF43926.
        let token = Array("123456789".utf8)
        let place = PlaceRule.unkeyed.place(of: token)
        #expect(place.tag == 0xCB)
        #expect(place.hash == token.withUnsafeBytes { TokenBuckets.polynomial($0) })
        #expect(PlaceRule.unkeyed.field(of: token) == token)
        #expect(token.withUnsafeBytes { TokenLayout.unkeyed.token(ofField: $0) } == token)
    }

    @Test("The tag alone is the place's, with a checksum and without", arguments: [PlaceRuleTests.rule, .unkeyed])
    func tag(rule: PlaceRule) {
        for length in [0, 1, 31, 32, 100] {
            let token = (0..<length).map { UInt8($0) }
            token.withUnsafeBytes { bytes in
                let checksum = CRC32.checksum(bytes)
                #expect(rule.tag(of: bytes, checksum: checksum) == rule.place(of: token).tag)
                #expect(rule.place(of: bytes, checksum: checksum) == rule.place(of: token))
            }
        }
    }

    @Test("Under another key a token lies elsewhere")
    func keys() {
        let places = (0..<100).map { PlaceRule.keyed(SipHash(low: $0, high: 0)).place(of: Self.token).hash }
        #expect(Set(places).count == 100)
    }

    @Test("Tokens that pile up without a key are spread by one")
    func crafted() {
        func places(_ rule: PlaceRule) -> Int {
            let places = CraftedTokens.make(500, tag: 3).map { token in
                let place = rule.place(of: token)
                return place.tag << 8 | TokenBuckets.index(hash: place.hash, count: 256)
            }
            return Set(places).count
        }
        #expect(places(.unkeyed) == 1)
        #expect(places(Self.rule) > 480)
    }

    @Test("The value in Redis is the layout, and the key's bytes in hexadecimal digits")
    func text() {
        #expect(PlaceRule.unkeyed.text == "2")
        #expect(Self.rule.text == "3 000102030405060708090a0b0c0d0e0f")
        for rule in [PlaceRule.unkeyed, Self.rule, TokenStore.rule] { #expect(PlaceRule(text: rule.text) == rule) }
    }

    @Test(
        "A value of another form is no rule",
        arguments: [
            "", "1", "3", "4", "2 ", "02", "3 0001", "4 000102030405060708090a0b0c0d0e0f",
            "2 000102030405060708090a0b0c0d0e0f", "3  000102030405060708090a0b0c0d0e0f",
            "3 000102030405060708090a0b0c0d0e0g", "3 000102030405060708090a0b0c0d0e0f 1",
        ]
    )
    func others(text: String) {
        #expect(PlaceRule(text: text) == nil)
    }

    @Test("A rule that is printed does not tell its key")
    func secret() {
        for text in ["\(Self.rule)", String(reflecting: Self.rule), "\([Self.rule])"] {
            #expect(text.contains("layout 3") && !text.contains("0001") && !text.contains("506"))
        }
    }
}
