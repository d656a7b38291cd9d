import PipelineCore
import Testing
import TokenState

/// The key is a contract: other programs read the same Redis.
@Suite struct FingerprintKeyTests {
    private func key(_ requestID: String, _ token: [UInt8]) -> [UInt8] {
        let shared = Array(requestID.utf8).withUnsafeBytes { RequestFingerprint.key(requestID: $0) }
        return token.withUnsafeBytes { bytes in
            let key = FingerprintKey(.request, environment: "sandbox", bundleID: "com.example.news")
            return [UInt8](unsafeUninitializedCapacity: key.count) { room, count in
                key.write(
                    RequestFingerprint(token: bytes, key: shared),
                    tag: 0xCB,
                    into: UnsafeMutableRawBufferPointer(room)
                )
                count = key.count
            }
        }
    }

    @Test("The key is d:, the hash tag of the token's key, and twelve bytes")
    func layout() {
        let key = key("request-1", Array("123456789".utf8))
        #expect(key.starts(with: Array("d:{sandbox:com.example.news:cb}:".utf8)))
        #expect(key.count == "d:{sandbox:com.example.news:cb}:".utf8.count + 12)
        #expect(key != self.key("request-2", Array("123456789".utf8)))
    }
}
