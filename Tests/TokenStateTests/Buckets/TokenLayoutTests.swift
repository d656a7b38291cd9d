import PipelineCore
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// The places of tokens are a contract: other programs read the same Redis.
@Suite struct TokenLayoutTests {
    private static let token = [UInt8](0..<32)
    /// Of the test vectors: the key 00 01 … 0F.
    private static let layout = TokenLayout(SipHash(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908))

    @Test("The digest's first byte is the tag, its last three the hash, which stands before the token")
    func place() {
        // The digest is 71 27 51 2F 72 F2 7C CE, as SipHashTests has it.
        #expect(Self.layout.place(of: Self.token) == TokenPlace(tag: 0x71, hash: 0xF2_7CCE))
        #expect(Self.layout.field(of: Self.token) == [0xCE, 0x7C, 0xF2] + Self.token)
        #expect(Self.layout.field(of: Self.token).withUnsafeBytes { TokenLayout.token(ofField: $0) } == Self.token)
    }

    @Test("Under another key a token lies elsewhere")
    func keys() {
        let places = (0..<100).map { TokenLayout(SipHash(low: $0, high: 0)).place(of: Self.token).hash }
        #expect(Set(places).count == 100)
    }

    @Test("The value in Redis is the version, and the key's bytes in hexadecimal digits")
    func text() {
        #expect(Self.layout.text == "3 000102030405060708090a0b0c0d0e0f")
        for layout in [Self.layout, TokenStore.layout] { #expect(TokenLayout(text: layout.text) == layout) }
    }

    @Test(
        "A value of another form is no layout",
        arguments: [
            "", "1", "2", "3", "4", "2 ", "02", "3 0001", "4 000102030405060708090a0b0c0d0e0f",
            "2 000102030405060708090a0b0c0d0e0f", "3  000102030405060708090a0b0c0d0e0f",
            "3 000102030405060708090a0b0c0d0e0g", "3 000102030405060708090a0b0c0d0e0f 1",
        ]
    )
    func others(text: String) {
        #expect(TokenLayout(text: text) == nil)
    }

    @Test("A layout that is printed does not tell its key")
    func secret() {
        for text in ["\(Self.layout)", String(reflecting: Self.layout), "\([Self.layout])"] {
            #expect(text.contains("layout 3") && !text.contains("0001") && !text.contains("506"))
        }
    }
}
