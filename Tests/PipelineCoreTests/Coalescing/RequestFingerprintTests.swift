import RequestLanes
import Testing

@testable import PipelineCore

/// Fingerprints that other programs which read the same Redis must compute too. The expected values are OpenSSL's
/// (`openssl mac SIPHASH`).
@Suite struct RequestFingerprintTests {
    private func bytes(_ digest: SipHash) -> [UInt8] {
        [digest.low, digest.high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    private func bytes(_ fingerprint: RequestFingerprint) -> [UInt8] {
        var room = [UInt8](repeating: 0xEE, count: RequestFingerprint.bytes + 1)
        room.withUnsafeMutableBytes { fingerprint.write(into: $0) }
        #expect(room.last == 0xEE)
        return room.dropLast()
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    private func fingerprint(_ requestID: String, _ token: [UInt8]) -> RequestFingerprint {
        let key = Array(requestID.utf8).withUnsafeBytes { RequestFingerprint.key(requestID: $0) }
        return token.withUnsafeBytes { RequestFingerprint(token: $0, key: key) }
    }

    @Test(
        "The hash is SipHash-2-4 of 128 bits, for every length of the last word",
        arguments: [
            (0, "A3817F04BA25A8E66DF67214C7550293"), (1, "DA87C1D86B99AF44347659119B22FC45"),
            (7, "A1F1EBBED8DBC153C0B84AA61FF08239"), (8, "3B62A9BA6258F5610F83E264F31497B4"),
            (9, "264499060AD9BAABC47F8B02BB6D71ED"), (15, "5493E99933B0A8117E08EC0F97CFC3D9"),
            (16, "6EE2A4CA67B054BBFD3315BF85230577"), (32, "7C3956CA5EEAFC3E363E9D556546EB68"),
            (63, "5150D1772F50834A503E069A973FBD7C"),
        ] as [(Int, String)]
    )
    func sipHash(count: Int, expected: String) {
        let key = SipHash(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
        let digest = (0..<count).map { UInt8($0) }.withUnsafeBytes { SipHash(of: $0, key: key) }
        #expect(hexadecimal(bytes(digest)) == expected)
    }

    @Test("A fingerprint is the beginning of the token's digest under the digest of the request id")
    func layout() {
        #expect(hexadecimal(bytes(fingerprint("request-1", (0..<32).map { UInt8($0) }))) == "0DBCE4A13A02C4713FD862D6")
    }

    @Test("Windows, and places of records, are a lane's own; those of the normal lane are as before there were lanes")
    func lanes() {
        let windows = RequestLane.allCases.map { lane in
            Array("score".utf8).withUnsafeBytes { RequestFingerprint.key(coalescingKey: $0, in: lane) }
        }
        let places = RequestLane.allCases.map { lane in
            RequestFingerprint.key(partition: 1, offset: 2, position: 3, in: lane)
        }
        #expect(Set(windows + places).count == 6)
        let former = Array("score".utf8).withUnsafeBytes { SipHash(of: $0, key: SipHash(low: 2, high: 0)) }
        #expect(windows[1] == former)
    }

    @Test("Other requests, and other tokens, have other fingerprints, however alike they are")
    func distinct() {
        var seen: Set<RequestFingerprint> = []
        for request in 0..<100 {
            for token in 0..<100 { seen.insert(fingerprint("request-\(request)", [0, 0, UInt8(token)])) }
        }
        #expect(seen.count == 10_000)
        #expect(fingerprint("a", [1, 2]) == fingerprint("a", [1, 2]))
    }
}
