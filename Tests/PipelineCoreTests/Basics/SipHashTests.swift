import Testing

@testable import PipelineCore

/// SipHash-2-4 under the key 00 01 … 0F, of the bytes 00 01 …; expected are the designers' test vectors, as
/// `openssl mac SIPHASH` computes them, too. The form of 128 bits is tested with ``RequestFingerprint``.
@Suite struct SipHashTests {
    private static let key = SipHash(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)

    @Test(
        "The 64 bits are those of SipHash, for every length of the last word",
        arguments: [
            (0, 0x726F_DB47_DD0E_0E31), (1, 0x74F8_39C5_93DC_67FD), (7, 0xAB02_00F5_8B01_D137),
            (8, 0x93F5_F579_9A93_2462), (15, 0xA129_CA61_49BE_45E5), (16, 0x3F2A_CC7F_57C2_9BDB),
            (31, 0x32D8_92FA_D841_C342), (32, 0x7127_512F_72F2_7CCE), (63, 0x958A_324C_EB06_4572),
        ] as [(Int, UInt64)]
    )
    func word(count: Int, expected: UInt64) {
        #expect((0..<count).map { UInt8($0) }.withUnsafeBytes { SipHash.word(of: $0, key: Self.key) } == expected)
    }

    @Test("Each half of the key counts")
    func keys() {
        let bytes: [UInt8] = [1, 2, 3]
        let words = [Self.key, SipHash(low: 0, high: Self.key.high), SipHash(low: Self.key.low, high: 0)].map { key in
            bytes.withUnsafeBytes { SipHash.word(of: $0, key: key) }
        }
        #expect(Set(words).count == 3)
    }
}
