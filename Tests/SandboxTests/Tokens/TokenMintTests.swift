import Testing

@testable import Sandbox

/// Token trust [13]: the service knows its tokens by decrypting them.
struct TokenMintTests {
    private let mint = TopicFixture().mint

    private func open(_ token: [UInt8], by mint: TokenMint) -> AppInstance? {
        token.withUnsafeBytes { mint.open($0) }
    }

    @Test("A token names the app instance it was minted for", arguments: [0, 1, 255, 256, 99_999, 16_777_214])
    func roundTrip(device: UInt32) {
        for generation in [0, 1, 63] as [UInt8] {
            let instance = AppInstance(device: device, generation: generation)
            let token = mint.token(of: instance)
            #expect(token.count == 32)
            #expect(open(token, by: mint) == instance)
        }
    }

    @Test("A token is the same whenever it is minted, and no two are alike")
    func tokensAreStableAndDistinct() {
        let tokens = (0..<1000).map { mint.token(of: AppInstance(device: $0)) }
        #expect(tokens == (0..<1000).map { TopicFixture().mint.token(of: AppInstance(device: $0)) })
        #expect(Set(tokens).count == 1000)
    }

    @Test("A token with any one bit changed is invalid")
    func damagedTokensAreInvalid() {
        let token = mint.token(of: AppInstance(device: 7))
        for bit in 0..<256 {
            var damaged = token
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(open(damaged, by: mint) == nil, "bit \(bit)")
        }
    }

    @Test("A token of another topic, environment or key is invalid")
    func foreignTokensAreInvalid() {
        let token = mint.token(of: AppInstance(device: 7))
        let key = TopicFixture.key
        let topic = TopicFixture.topic
        let otherKey = [1] + key.dropFirst()
        #expect(open(token, by: TokenMint(key: key, environment: .development, topic: topic)) != nil)
        #expect(open(token, by: TokenMint(key: key, environment: .development, topic: topic + "2")) == nil)
        #expect(open(token, by: TokenMint(key: key, environment: .production, topic: topic)) == nil)
        #expect(open(token, by: TokenMint(key: otherKey, environment: .development, topic: topic)) == nil)
    }

    @Test("Bytes of another length than a token's are invalid", arguments: [0, 1, 16, 31, 33, 64, 100])
    func otherLengthsAreInvalid(count: Int) {
        let token = mint.token(of: AppInstance(device: 7))
        let bytes = (token + token + token + token).prefix(count)
        #expect(open(Array(bytes), by: mint) == nil)
    }
}
