import PipelineCore
import PushSchemas
import TestSupport
import Testing

@testable import BelfryRuntime

/// The key is a contract, and the script is run on a real server.
@Suite struct DedupeKeyTests {
    private func key(_ requestID: String, _ token: [UInt8]) -> [UInt8] {
        let shared = Array(requestID.utf8).withUnsafeBytes { RequestFingerprint.key(requestID: $0) }
        return token.withUnsafeBytes { bytes in
            let key = DedupeKey(environment: "sandbox", bundleID: "com.example.news")
            return [UInt8](unsafeUninitializedCapacity: key.count) { room, count in
                key.write(
                    RequestFingerprint(token: bytes, key: shared),
                    checksum: CRC32.checksum(bytes),
                    into: UnsafeMutableRawBufferPointer(room)
                )
                count = key.count
            }
        }
    }

    @Test("The key is d:, the hash tag of the token's key, and twelve bytes")
    func layout() {
        // The check value of CRC-32/ISO-HDLC: "123456789" has 0xCBF43926.
        let key = key("request-1", Array("123456789".utf8))
        #expect(key.starts(with: Array("d:{sandbox:com.example.news:cb}:".utf8)))
        #expect(key.count == "d:{sandbox:com.example.news:cb}:".utf8.count + 12)
        #expect(key != self.key("request-2", Array("123456789".utf8)))
    }

    @Test("The script remembers every key it is given, for as long as it is told, from the last time on")
    func script() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let keys = (0..<40).map { key("request-\($0)", [1, 2, 3]) }
        #expect(try await store.remember(keys, milliseconds: 60_000) == 40)
        #expect(try await store.values(keys) == Array(repeating: Array("1".utf8), count: 40))
        #expect(try await store.values([key("request-40", [1, 2, 3])]) == [nil])
        let left = try await store.timeToLive(of: keys)
        #expect(left.allSatisfy { (1...60_000).contains($0) })
        #expect(try await store.remember([keys[0]], milliseconds: 3_600_000) == 1)
        #expect(try await store.timeToLive(of: [keys[0]])[0] > 60_000)
        try await store.close()
    }
}
