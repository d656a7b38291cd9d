import Foundation
import PushSchemas
import Testing

@testable import RequestRules

@Suite("Rules for one token")
struct TokenRuleTests {
    /// Calls `body` with the tokens of a request.
    private func withTokens(_ tokens: [[UInt8]], _ body: (SendRequestView) throws -> Void) throws {
        let request = PushSendRequest.with {
            $0.payload = Data("{}".utf8)
            $0.tokens = tokens.map { bytes in .with { $0.raw = Data(bytes) } }
        }
        let value: [UInt8] = try request.serializedBytes()
        try value.withUnsafeBytes { try body(try SendRequestView(decoding: $0, as: .protobuf)) }
    }

    @Test("A token has one of the lengths that the gateway takes")
    func lengths() throws {
        let rule = TokenRule(lengths: 32...40, spread: nil)
        try withTokens([31, 32, 40, 41].map { [UInt8](repeating: 1, count: $0) }) { view in
            let faults = (0..<view.tokenCount).map { rule.fault(of: view.token(at: $0), checksum: 0, shard: 9) }
            #expect(faults.map { $0?.reason } == ["token-length", nil, nil, "token-length"])
            #expect(faults[0]?.detail == "the token has 31 bytes; allowed: 32...40")
        }
    }

    @Test("The checksum is asked for only where a bundle is spread")
    func checksum() throws {
        try withTokens([[UInt8](repeating: 1, count: 32)]) { view in
            for spread in [nil, 1, 3] as [UInt32?] {
                var asked = 0
                func checksum() -> UInt32 {
                    asked += 1
                    return 7
                }
                let rule = TokenRule(lengths: 32...32, spread: spread)
                let fault = rule.fault(of: view.token(at: 0), checksum: checksum(), shard: spread == 3 ? 1 : nil)
                #expect(fault == nil && asked == (spread == 3 ? 1 : 0))
            }
        }
    }

    @Test("Without a spread the key names no shard; the fault says which it would be")
    func shards() throws {
        let one = TokenRule(lengths: 32...32, spread: 1)
        #expect(
            one.shardFault(of: "token", checksum: 7, shard: 0)?.detail
                == "the token belongs under the key's shard (none), the bundle's spread being 1"
        )
        let three = TokenRule(lengths: 32...32, spread: 3)
        #expect(
            three.shardFault(of: "channel", checksum: 7, shard: nil)?.detail
                == "the channel belongs under the key's shard 1, the bundle's spread being 3"
        )
    }
}
