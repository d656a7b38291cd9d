import APNsProtocol
import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// Keys for provider tokens; the second opinion comes from `openssl` and Python's cryptography.
struct ProviderKeyTests {
    let directory = TemporaryDirectory()

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(directory.path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// The example of RFC 7515, A.3: the key as PEM, what was signed, and r and s.
    static let exampleKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----

        """
    static let exampleInput =
        "eyJhbGciOiJFUzI1NiJ9"
        + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let exampleSignature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6+Xx+F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3+Kg6NU1Q=="

    @Test("The signature of the RFC's example is verified, and no other")
    func knownSignature() throws {
        let key = try ProviderPublicKey(pem: Array(Self.exampleKey.utf8))
        let input = Array(Self.exampleInput.utf8)
        let signature = [UInt8](try #require(Data(base64Encoded: Self.exampleSignature)))
        #expect(key.verifies(signature: signature, of: input))

        #expect(!key.verifies(signature: signature, of: input + [0]))
        for index in signature.indices {
            var wrong = signature
            wrong[index] ^= 1
            #expect(!key.verifies(signature: wrong, of: input))
        }
        for wrong in [[], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 255, count: 64), signature + [0]] {
            #expect(!key.verifies(signature: wrong, of: input))
        }
        #expect(!key.verifies(signature: [UInt8](signature.dropLast()), of: input))
    }

    /// The key of RFC 6979, A.2.5.
    static let deterministicKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFX
        Z7HWk05Qw9s26JsSe4piKxIPZyGhRANCAARg/tS6JVqdMclh63TGNW1owEm4kjth
        +mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ
        -----END PRIVATE KEY-----

        """

    @Test(
        "A signature follows from key and message, as in the RFC's examples",
        arguments: [
            (
                "sample",
                "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
                    + "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
            ),
            (
                "test",
                "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
                    + "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
            ),
        ]
    )
    func deterministic(message: String, signature: String) throws {
        let key = try ProviderKey(pem: Array(Self.deterministicKey.utf8))
        for _ in 0..<2 {
            let made = try key.signature(of: Array(message.utf8))
            #expect(made.map { String(format: "%02X", $0) }.joined() == signature)
        }
    }

    @Test("Keys that were made, and read from a file, sign alike")
    func deterministicFiles() throws {
        let key = try ProviderKey.generate()
        let path = try file("key.p8", key.pem())
        for round in 0..<20 {
            let input = Array("round \(round)".utf8)
            #expect(try key.signature(of: input) == ProviderKey(file: path).signature(of: input))
        }
    }

    @Test("A key verifies its own signatures, r and s in 32 bytes each, and those of no other key")
    func roundTrip() throws {
        let key = try ProviderKey.generate()
        let other = try ProviderKey.generate()
        // r or s begins with a zero byte every 128 times.
        for round in 0..<300 {
            let input = Array("round \(round)".utf8)
            let signature = try key.signature(of: input)
            #expect(signature.count == ProviderToken.signatureBytes)
            #expect(try key.publicKey.verifies(signature: signature, of: input))
            if round == 0 { #expect(try !other.publicKey.verifies(signature: signature, of: input)) }
        }
    }

    @Test("A key comes back from its file, which its owner alone can read")
    func files() throws {
        let key = try ProviderKey.generate()
        let path = "\(directory.path)/AuthKey_ABC123DEFG.p8"
        try key.writePEM(to: path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try ProviderKey(file: path) == key)
        #expect(try ProviderKey.generate() != key)
        #expect(String(decoding: try key.pem(), as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
    }

    @Test("A provider token of ours is verified by Python's cryptography, and one of Python's by us")
    func foreignTokens() throws {
        let id = try #require(ProviderKeyID(team: "DEF123GHIJ", key: "ABC123DEFG"))
        let key = try ProviderKey.generate()
        let path = try file("key.p8", key.pem())
        let token = ProviderToken(key: id, issuedAt: 1_437_179_036)
        let compact = try token.compact { input throws(TLSConfigurationError) in try key.signature(of: input) }

        let script = """
            import base64, json, sys
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec, utils
            def decoded(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            def encoded(data): return base64.urlsafe_b64encode(data).rstrip(b"=")
            key = serialization.load_pem_private_key(open(sys.argv[1], "rb").read(), None)
            header, claims, signature = sys.argv[2].split(".")
            raw = decoded(signature)
            r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
            key.public_key().verify(
                utils.encode_dss_signature(r, s), f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256())
            )
            assert json.loads(decoded(header)) == {"alg": "ES256", "kid": "ABC123DEFG"}
            assert json.loads(decoded(claims)) == {"iss": "DEF123GHIJ", "iat": 1437179036}
            parts = [{"typ": "JWT", "alg": "ES256", "kid": "ABC123DEFG"}, {"iat": 1437179037, "iss": "DEF123GHIJ"}]
            text = b".".join(encoded(json.dumps(part).encode()) for part in parts)
            r, s = utils.decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
            sys.stdout.buffer.write(text + b"." + encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big")))
            """
        let python = try ForeignProcess.python("-c", script, path, String(decoding: compact, as: UTF8.self))
        try #require(python.status == 0, "\(python.errors)")
        let signed = try python.output.withUnsafeBytes { try SignedProviderToken(compact: $0) }
        #expect(signed.token == ProviderToken(key: id, issuedAt: 1_437_179_037))
        #expect(try key.publicKey.verifies(signature: signed.signature, of: signed.signingInput))
    }

    @Test("A file that cannot sign is named together with what is wrong")
    func badFiles() throws {
        func made(_ arguments: String...) throws -> [UInt8] {
            try ForeignProcess.run("/usr/bin/env", ["openssl", "genpkey"] + arguments, input: "").output
        }
        let good = try ProviderKey.generate().pem()
        let damaged = Array(String(decoding: good, as: UTF8.self).replacingOccurrences(of: "MIG", with: "MIH").utf8)
        let encrypted = try ForeignProcess.openssl(
            "pkcs8",
            "-topk8",
            "-in",
            file("plain.p8", good),
            "-passout",
            "pass:geheim"
        ).output
        let p384 = try made("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
        let cases: [(String, [UInt8], (TLSConfigurationError.Reason) -> Bool)] = [
            ("empty", [], { $0 == .noPrivateKey }),
            ("text", Array("hello".utf8), { $0 == .noPrivateKey }),
            ("public", Array(Self.exampleKey.utf8), { $0 == .noPrivateKey }),
            ("certificate", try TestPKI.authority.rootPEM(), { $0 == .noPrivateKey }),
            ("encrypted", encrypted, { $0 == .passphraseMissing }),
            ("rsa", try made("-algorithm", "RSA"), { $0 == .notES256Key("RSA") }),
            ("ed25519", try made("-algorithm", "ED25519"), { $0 == .notES256Key("ED25519") }),
            ("p384", p384, { $0 == .notES256Key("EC, curve secp384r1") }),
            ("damaged", damaged, { if case .rejected = $0 { true } else { $0 == .noPrivateKey } }),
        ]
        for (name, bytes, isExpected) in cases {
            let path = try file("\(name).p8", bytes)
            let error = #expect(throws: TLSConfigurationError.self) { try ProviderKey(file: path) }
            #expect(error.map { isExpected($0.reason) } == true, "\(name): \(String(describing: error))")
            #expect(error?.file == path)
        }
        let absent = "\(directory.path)/absent.p8"
        let error = #expect(throws: TLSConfigurationError.self) { try ProviderKey(file: absent) }
        #expect(error?.reason == .unreadable("No such file or directory"))
    }

    @Test("A public key of another kind is refused, and what is none")
    func badPublicKeys() throws {
        let rsa = try ForeignProcess.run("/usr/bin/env", ["openssl", "genpkey", "-algorithm", "RSA"], input: "").output
        let path = try file("rsa.pem", rsa)
        let publicKey = try ForeignProcess.openssl("pkey", "-in", path, "-pubout").output
        let error = #expect(throws: TLSConfigurationError.self) { try ProviderPublicKey(pem: publicKey) }
        #expect(error?.reason == .notES256Key("RSA"))
        let none = #expect(throws: TLSConfigurationError.self) { try ProviderPublicKey(pem: []) }
        #expect(none?.reason == .noPublicKey)
    }

    @Test("Nothing of a key is printed, in any way that Swift has")
    func secrecy() throws {
        let key = try ProviderKey.generate()
        let secret = String(decoding: try key.pem(), as: UTF8.self).split(separator: "\n").dropFirst().first ?? ""
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains(secret)) }
        #expect("\(key)" == "a key for ES256")
    }
}
