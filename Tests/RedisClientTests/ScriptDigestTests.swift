import RedisClient
import Testing

@Suite("The digest of a script")
struct ScriptDigestTests {
    @Test(
        "It is the SHA-1 of the source: digests are those of FIPS 180-4's examples",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
        ]
    )
    func vectors(message: String, digest: String) {
        #expect(String(decoding: RedisScript(message).digest, as: UTF8.self) == digest)
    }

    @Test("So is that of a million letters")
    func longVector() {
        let message = String(repeating: "a", count: 1_000_000)
        let digest = "34aa973cd4c4daa4f61eeb2bdbad27316534016f"
        #expect(String(decoding: RedisScript(message).digest, as: UTF8.self) == digest)
    }
}
