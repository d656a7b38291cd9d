import TLSTransport
import Testing

/// The names of tokens in log lines.
@Suite struct TokenHashTests {
    @Test(
        "A token's name is the beginning of its SHA-256, and tells nothing of the token",
        arguments: [
            ([], "e3b0c44298fc"), (Array("abc".utf8), "ba7816bf8f01"),
            ([UInt8](repeating: 0, count: 32), "66687aadf862"),
        ] as [([UInt8], String)]
    )
    func name(of token: [UInt8], _ text: String) {
        #expect(TokenHash.text(token) == text)
    }
}
