import Testing

@testable import Sandbox

struct TokenOpenerTests {
    private let mints = ["com.example.a", "com.example.b", "com.example.c"].map {
        TokenMint(key: TopicFixture.key, environment: .development, topic: $0)
    }

    @Test("Tokens of every topic and length are opened as their mint opens them", arguments: [32, 33, 64, 100])
    func opens(bytes: Int) {
        let opener = TokenOpener(mints: mints)
        for (topic, mint) in mints.enumerated() {
            let instance = AppInstance(device: 7, generation: 3, tokenBytes: UInt8(bytes))
            let token = mint.token(of: instance)
            let opened = token.withUnsafeBytes(opener.open)
            #expect(opened?.topic == topic && opened?.instance == instance)
            #expect(opened?.instance.tokenBytes == UInt8(bytes))
            for index in token.indices {
                var damaged = token
                damaged[index] ^= 1
                #expect(damaged.withUnsafeBytes(opener.open) == nil)
            }
        }
    }

    @Test("A token of another topic, environment, key or length is none")
    func foreign() {
        let opener = TokenOpener(mints: mints)
        let instance = AppInstance(device: 7)
        let foreign = [
            TokenMint(key: TopicFixture.key, environment: .development, topic: "com.example.d"),
            TokenMint(key: TopicFixture.key, environment: .production, topic: "com.example.a"),
            TokenMint(key: [UInt8](1...32), environment: .development, topic: "com.example.a"),
        ].map { $0.token(of: instance) }
        let good = mints[0].token(of: instance)
        for token in foreign + [[], Array(good.dropLast()), good + [0], good + good + good + good] {
            #expect(token.withUnsafeBytes(opener.open) == nil)
        }
    }
}
