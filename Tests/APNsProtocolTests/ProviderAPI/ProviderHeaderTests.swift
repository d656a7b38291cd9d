import APNsProtocol
import TestSupport
import Testing

@Suite struct ProviderHeaderTests {
    static func find(_ name: String) -> ProviderHeader? {
        Array(name.utf8).withUnsafeBytes { ProviderHeader(name: $0) }
    }

    @Test("Every field is found by its name", arguments: ProviderHeader.allCases)
    func names(field: ProviderHeader) {
        #expect(Self.find("\(field.name)") == field)
        #expect("\(field.name)" == "\(field.name)".lowercased())
    }

    @Test("Other names are no fields")
    func otherNames() {
        let names = [
            "", ":paths", ":pat", "method", "apns-ID", "apns-ix", "apns-topiC", "apns-prioritx", "authorizatiom",
            "apns-push-typo", "apns-expiratiom", "apns-collapse-ix", "accept", "content-length",
        ]
        #expect(names.filter { Self.find($0) != nil }.isEmpty)
    }

    @Test("HPACK indexes what repeats, and never what differs from request to request")
    func indexing() {
        #expect(ProviderHeader.allCases.filter { !$0.isIndexed } == [.path, .id, .expiration, .collapseID])
    }

    @Test("A head keeps the values until it is cleared; the first of two counts")
    func head() throws {
        var head = ProviderRequestHead()
        head.add(.topic, "com.example.news")
        head.add(.priority, "")
        for (name, value) in [("apns-id", "x"), ("user-agent", "y")] {
            Array(name.utf8).withUnsafeBytes { name in
                Array(value.utf8).withUnsafeBytes { head.add(name: name, value: $0) }
            }
        }
        #expect(!head.hasDuplicates)
        head.add(.topic, "com.example.other")
        #expect(head.hasDuplicates)
        #expect(Self.values(head) == [.topic: "com.example.news", .priority: "", .id: "x"])

        head.clear()
        #expect(!head.hasDuplicates && Self.values(head).isEmpty)
        head.add(.topic, "again")
        #expect(Self.values(head) == [.topic: "again"])
    }

    private static func values(_ head: ProviderRequestHead) -> [ProviderHeader: String] {
        let result = Result { () throws(ProviderReason) in
            try head.withValues { values throws(ProviderReason) -> [ProviderHeader: String] in
                Dictionary(
                    uniqueKeysWithValues: ProviderHeader.allCases.compactMap { field in
                        values[field].map { (field, String(decoding: $0, as: UTF8.self)) }
                    }
                )
            }
        }
        return (try? result.get()) ?? [:]
    }

    // MARK: Values

    @Test("A path comes back from a token of any length, in lower case", arguments: [1, 32, 80, 100])
    func path(tokenBytes: Int) throws {
        var random = SeededGenerator(seed: UInt64(tokenBytes))
        let token = random.bytes(tokenBytes)
        let text = ProviderPath.text(token: token)
        #expect(text == text.lowercased())
        var written = [UInt8](repeating: 0, count: ProviderPath.bytes(tokenBytes: tokenBytes))
        let count = written.withUnsafeMutableBytes { room in
            token.withUnsafeBytes { ProviderPath.write(token: $0, into: room) }
        }
        #expect(count == written.count)
        #expect(written == Array(text.utf8))
        #expect(Self.token(text) == .success(token))
        #expect(Self.token("/3/device/" + Hex.encode(token).uppercased()) == .success(token))
    }

    @Test(
        "A path that names no token says why",
        arguments: [
            ("", .badPath), ("/", .badPath), ("/3/devic", .badPath), ("/3/devices/00", .badPath),
            ("/2/device/00", .badPath), ("3/device/00", .badPath), ("/3/device", .missingDeviceToken),
            ("/3/device/", .missingDeviceToken), ("/3/device/0", .badDeviceToken), ("/3/device/0g", .badDeviceToken),
            ("/3/device/00/", .badDeviceToken), ("/3/device/00?x", .badDeviceToken),
            ("/3/device/" + String(repeating: "0", count: 202), .badDeviceToken),
            ("/3/device/" + String(repeating: "0", count: 10_000), .badDeviceToken),
        ] as [(String, ProviderReason)]
    )
    func badPath(path: String, reason: ProviderReason) {
        #expect(Self.token(path) == .failure(reason))
    }

    private static func token(_ path: String) -> Result<[UInt8], ProviderReason> {
        let bytes = Array(path.utf8)
        return Result { () throws(ProviderReason) in
            try bytes.span.withUnsafeBytes { path throws(ProviderReason) in
                try ProviderPath.withToken(of: path) { token throws(ProviderReason) in [UInt8](token) }
            }
        }
    }

    @Test("An expiration is UNIX seconds in digits")
    func expiration() {
        func seconds(_ text: String) -> Int64? {
            Array(text.utf8).withUnsafeBytes { ProviderExpiration.seconds(headerValue: $0) }
        }
        #expect(seconds("0") == 0)
        #expect(seconds("1366709400") == 1_366_709_400)
        #expect(seconds("9999999999999") == 9_999_999_999_999)
        for text in ["", "-1", "+1", "1.5", "1e3", " 1", "1 ", "0x1", "10000000000000", "now"] {
            #expect(seconds(text) == nil)
        }
    }

    @Test("A collapse id has 1 to 64 bytes that a header may carry")
    func collapseID() {
        func isValid(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { CollapseID.isValid($0) } }
        let longest = [String(repeating: "a", count: 64), String(repeating: "\u{E9}", count: 32)]
        for text in ["a", "game 1", "\u{E9}"] + longest { #expect(isValid(text)) }
        for text in ["", " a", "a ", "a\nb", "a\u{0}", "\u{7F}", String(repeating: "a", count: 65)] {
            #expect(!isValid(text))
        }
    }
}
