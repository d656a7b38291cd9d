import APNsProtocol
import Testing

@testable import Sandbox

/// Tokens of more than 32 bytes, "up to 100" [later].
struct TokenLengthTests {
    private func mint(
        _ mintedBytes: Int,
        environment: PushEnvironment = .development,
        key: [UInt8] = TopicFixture.key,
        topic: String = TopicFixture.topic
    ) -> TokenMint {
        TokenMint(key: key, environment: environment, topic: topic, mintedBytes: mintedBytes)
    }

    private func open(_ token: [UInt8], by mint: TokenMint) -> AppInstance? {
        token.withUnsafeBytes { mint.open($0) }
    }

    @Test(
        "Every length has a token of its own, which every mint of the topic opens and makes again",
        arguments: 32...100
    )
    func roundTrip(count: Int) {
        let instance = AppInstance(device: 70_000, generation: 3)
        let token = mint(count).token(of: instance)
        #expect(token.count == count)
        for other in [32, 64, 100] {
            let opened = open(token, by: mint(other))
            #expect(opened == instance)
            #expect(opened.map { mint(other).token(of: $0) } == token, "named by the token it was recognised by")
        }
    }

    @Test("A longer token with any one bit changed is invalid", arguments: [33, 64, 65, 96, 97, 100])
    func damaged(count: Int) {
        let token = mint(count).token(of: AppInstance(device: 7))
        for bit in 0..<count * 8 {
            var damaged = token
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(open(damaged, by: mint(count)) == nil, "bit \(bit)")
        }
    }

    @Test("A token that is cut or prolonged is invalid, at every length", arguments: [32, 33, 64, 100])
    func otherLengths(count: Int) {
        let token = mint(count).token(of: AppInstance(device: 7))
        let longest = mint(100).token(of: AppInstance(device: 7))
        for length in 0...120 where length != count {
            let padding = longest.dropFirst(count) + [UInt8](repeating: 0, count: 20)
            #expect(open(Array((token + padding).prefix(length)), by: mint(100)) == nil, "\(length)")
        }
    }

    @Test("A longer token of another topic, environment or key is invalid")
    func foreign() {
        let token = mint(100).token(of: AppInstance(device: 7))
        #expect(open(token, by: mint(100)) != nil)
        #expect(open(token, by: mint(100, environment: .production)) == nil)
        #expect(open(token, by: mint(100, key: [1] + TopicFixture.key.dropFirst())) == nil)
        #expect(open(token, by: mint(100, topic: "com.example.other")) == nil)
    }

    @Test("Longer tokens differ from device to device beyond their first 32 bytes too, and do not repeat themselves")
    func tailsDiffer() {
        let tokens = (0..<1000).map { mint(100).token(of: AppInstance(device: $0)) }
        for start in [0, 32, 64] {
            let parts = Set(tokens.map { Array($0[start..<start + 32]) })
            #expect(parts.count == 1000)
        }
        let parts = Set([0, 32, 64].map { Array(tokens[0][$0..<$0 + 32]) })
        #expect(parts.count == 3)
    }
}
