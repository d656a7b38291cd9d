import TestSupport
import Testing

@testable import TLSTransport

struct TokenCipherTests {
    static func apply(_ body: (UnsafeMutableRawBufferPointer) -> Void, _ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes.withUnsafeMutableBytes { body($0) }
        return bytes
    }

    // Made with `openssl enc -aes-256-ecb -nopad`.
    static let expectedC1: [UInt8] = [
        0xe6, 0xca, 0x59, 0x06, 0x1e, 0x56, 0x26, 0xca, 0xb4, 0xf4, 0xff, 0x8e, 0xfa, 0x8d, 0x87, 0xd7,
    ]
    static let expectedC2: [UInt8] = [
        0xd4, 0xe9, 0x69, 0x25, 0xc0, 0xbf, 0xcf, 0xfb, 0x52, 0xf8, 0xa1, 0x87, 0xee, 0x77, 0x4a, 0xab,
    ]

    let cipher = TokenCipher(key: Array(0..<32))

    @Test("What is encrypted decrypts to itself, over and over with one instance")
    func roundTrip() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<1000 {
            let plain = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            let token = Self.apply(cipher.encrypt, plain)
            #expect(token != plain)
            #expect(Self.apply(cipher.decrypt, token) == plain)
        }
    }

    @Test("The construction is the documented one: AES-256, chained forth and back")
    func knownAnswer() {
        // FIPS 197, C.3: AES-256 of 00112233445566778899aabbccddeeff under key 000102…1f. With P2 = X1 the second block
        // of the first pass is E(0).
        let plain = (0..<16).map { UInt8($0 * 0x11) }
        let x1: [UInt8] = [
            0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89,
        ]
        let token = Self.apply(cipher.encrypt, plain + x1)
        // C2 = E(E(0)), C1 = E(X1 ^ C2).
        #expect(token[16...].elementsEqual(Self.expectedC2))
        #expect(token[..<16].elementsEqual(Self.expectedC1))
    }

    @Test("Any flipped bit of a token garbles both halves of what is inside", arguments: 0..<256)
    func flippedBit(bit: Int) {
        let plain = (0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        var token = Self.apply(cipher.encrypt, plain)
        token[bit / 8] ^= 1 << (bit % 8)
        let garbled = Self.apply(cipher.decrypt, token)
        for half in [0..<16, 16..<32] {
            let flipped = zip(garbled[half], plain[half]).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
            // Of 128 bits half change, give or take; fewer than 32 by chance once in 10⁸.
            #expect(flipped >= 32)
        }
    }

    @Test("Keys make different tokens")
    func otherKey() {
        let plain = [UInt8](repeating: 0, count: 32)
        let other = TokenCipher(key: Array(1..<33))
        #expect(Self.apply(other.encrypt, plain) != Self.apply(cipher.encrypt, plain))
    }

    @Test("Many tokens at once decrypt as they do one by one", arguments: [0, 1, 2, 63, 64, 65, 128, 300])
    func many(count: Int) {
        var random = SeededGenerator(seed: 3)
        let tokens = (0..<count * 32).map { _ in UInt8.random(in: 0...255, using: &random) }
        let oneByOne = (0..<count).flatMap { Self.apply(cipher.decrypt, Array(tokens[$0 * 32..<$0 * 32 + 32])) }
        #expect(Self.apply(cipher.decryptAll, tokens) == oneByOne)
    }
}
