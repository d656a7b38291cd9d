import TestSupport
import Testing

@testable import PushSchemas

@Suite("CRC-32")
struct CRC32Tests {
    @Test(
        "It is the CRC-32 of IEEE 802.3",
        arguments: [
            ("", 0x0000_0000), ("a", 0xE8B7_BE43), ("abc", 0x3524_41C2), ("123456789", 0xCBF4_3926),
            ("message digest", 0x2015_9D7F), ("abcdefghijklmnopqrstuvwxyz", 0x4C27_50BD),
            ("The quick brown fox jumps over the lazy dog", 0x414F_A339),
        ] as [(String, UInt32)]
    )
    func vector(text: String, expected: UInt32) {
        #expect(Array(text.utf8).withUnsafeBytes(CRC32.checksum) == expected)
    }

    @Test("32 zero bytes, 32 one bytes and 32 counting bytes have the checksums of RFC 1952's polynomial")
    func tokensOfKnownChecksum() {
        #expect([UInt8](repeating: 0x00, count: 32).withUnsafeBytes(CRC32.checksum) == 0x190A_55AD)
        #expect([UInt8](repeating: 0xFF, count: 32).withUnsafeBytes(CRC32.checksum) == 0xFF6C_AB0B)
        #expect([UInt8](0..<32).withUnsafeBytes(CRC32.checksum) == 0x9126_7E8A)
    }

    @Test("Eight bytes a step gives what one bit a step gives, at every length and alignment")
    func agreesWithTheDefinition() {
        var generator = SeededGenerator(seed: 1)
        let bytes = (0..<300).map { _ in UInt8.random(in: 0...255, using: &generator) }
        for start in 0..<9 {
            for length in 0..<80 {
                let slice = Array(bytes[start..<start + length])
                let checksum = bytes.withUnsafeBytes {
                    CRC32.checksum(UnsafeRawBufferPointer(rebasing: $0[start..<start + length]))
                }
                #expect(checksum == definition(slice))
            }
        }
    }

    private func definition(_ bytes: [UInt8]) -> UInt32 {
        var register = UInt32.max
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 { register = register & 1 == 1 ? (register >> 1) ^ 0xEDB8_8320 : register >> 1 }
        }
        return ~register
    }
}
