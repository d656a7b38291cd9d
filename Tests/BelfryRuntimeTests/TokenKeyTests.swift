import PushSchemas
import Testing

@testable import BelfryRuntime

/// The layout of the key is a contract: other programs read the same Redis.
@Suite struct TokenKeyTests {
    private func key(
        _ token: [UInt8],
        environment: String = "sandbox",
        bundleID: String = "com.example.news"
    ) -> [UInt8] {
        token.withUnsafeBytes { TokenKey(environment: environment, bundleID: bundleID).bytes(token: $0) }
    }

    @Test("The key is t:{environment:bundle:xx}: and the raw token, xx the top eight bits of its CRC-32")
    func layout() {
        // The check value of CRC-32/ISO-HDLC: "123456789" has 0xCBF43926.
        let token = Array("123456789".utf8)
        #expect(key(token) == Array("t:{sandbox:com.example.news:cb}:123456789".utf8))
    }

    @Test("The two digits are lower-case and keep a leading zero, for each of the 256 values")
    func everyTag() {
        var seen: Set<[UInt8]> = []
        for number in 0..<4096 {
            let token = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0xEE, count: 30)
            let checksum = token.withUnsafeBytes { CRC32.checksum($0) }
            let digits = String(checksum >> 24, radix: 16)
            let tag = digits.count == 1 ? "0" + digits : digits
            #expect(key(token) == Array("t:{sandbox:com.example.news:\(tag)}:".utf8) + token)
            seen.insert(Array(tag.utf8))
        }
        #expect(seen.count == 256)
    }

    @Test("Redis hashes environment, bundle and the two digits only, also when the token has braces in it")
    func hashTag() {
        let token = Array("}{}{}{}{".utf8) + [UInt8](repeating: 0x7D, count: 24)
        let bytes = key(token)
        // What a cluster hashes: between the first opening brace and the first closing one after it.
        let open = bytes.firstIndex(of: UInt8(ascii: "{")) ?? 0
        let end = bytes[open...].firstIndex(of: UInt8(ascii: "}")) ?? 0
        let tag = String(decoding: bytes[(open + 1)..<end], as: UTF8.self)
        #expect(tag.hasPrefix("sandbox:com.example.news:"))
        #expect(tag.utf8.count == "sandbox:com.example.news:".utf8.count + 2)
    }

    @Test("The key has the announced length and is written where it is told, for every length of token")
    func lengths() {
        for count in [0, 1, 32, 100] {
            let token = [UInt8](repeating: 7, count: count)
            let tokenKey = TokenKey(environment: "production", bundleID: "a.b")
            #expect(tokenKey.count(tokenBytes: count) == key(token, environment: "production", bundleID: "a.b").count)
            var buffer = [UInt8](repeating: 0xFF, count: tokenKey.count(tokenBytes: count) + 1)
            buffer.withUnsafeMutableBytes { buffer in
                token.withUnsafeBytes { tokenKey.write(token: $0, checksum: CRC32.checksum($0), into: buffer) }
            }
            #expect(Array(buffer.dropLast()) == key(token, environment: "production", bundleID: "a.b"))
            #expect(buffer.last == 0xFF)
        }
    }

    @Test("Environments and bundles have keys of their own for the same token")
    func separation() {
        let token = [UInt8](repeating: 1, count: 32)
        let keys: Set = [key(token), key(token, environment: "production"), key(token, bundleID: "com.example.chat")]
        #expect(keys.count == 3)
    }
}
