import TestSupport
import Testing

@testable import PushSchemas

@Suite("Record keys")
struct RecordKeyTests {
    @Test(
        "A key is a bundle ID, or a bundle ID and a shard",
        arguments: [
            ("com.example.news", "com.example.news", nil),
            ("com.example.news#0", "com.example.news", 0),
            ("com.example.news#17", "com.example.news", 17),
            ("com.example-2.News_x.voip#4294967295", "com.example-2.News_x.voip", .max),
            ("a", "a", nil),
        ] as [(String, String, UInt32?)]
    )
    func accepted(text: String, bundleID: String, shard: UInt32?) throws {
        let key = try parse(Array(text.utf8))
        #expect(key.bundleID == bundleID)
        #expect(key.shard == shard)
        #expect(key.description == text, "what was parsed is published as the same key")
        #expect(try RecordKey(bundleID: bundleID, shard: shard) == key)
    }

    @Test(
        "A key that names no bundle, a bundle ID that cannot be one and a shard that is no number are refused",
        arguments: [
            ("", .keyMissing), ("#", .keyWithoutBundle), ("#3", .keyWithoutBundle),
            ("com.example news", .bundleInvalid), ("com/example", .bundleInvalid), ("{com}", .bundleInvalid),
            ("com.exämple", .bundleInvalid), (String(repeating: "a", count: 256), .bundleInvalid),
            ("com.example#", .shardInvalid), ("com.example#x", .shardInvalid), ("com.example#-1", .shardInvalid),
            ("com.example#+1", .shardInvalid), ("com.example#01", .shardInvalid), ("com.example#00", .shardInvalid),
            ("com.example#1#2", .shardInvalid), ("com.example# 1", .shardInvalid),
            ("com.example#4294967296", .shardInvalid), ("com.example#99999999999999999999", .shardInvalid),
        ] as [(String, RecordFault)]
    )
    func refused(text: String, fault: RecordFault) {
        #expect(parseFault(Array(text.utf8)) == fault)
    }

    @Test(
        "A key as serializers and shells may write it is another key: it is refused, and the character is named",
        arguments: [
            (#""com.example.news""#, "a quotation mark at byte 0"), ("com.example.news\n", "a line end at byte 16"),
            ("com.example.news ", "a space at byte 16"), (" com.example.news", "a space at byte 0"),
            ("com.example.news#3\n", "it has a line end"), (#"com.example.news#3""#, "it has a quotation mark"),
            ("com/example", "'/' at byte 3"), ("com.exämple", "one that is not ASCII at byte 6"),
            ("\u{0}com", "a control character at byte 0"),
        ]
    )
    func named(text: String, words: String) {
        #expect(parseError(Array(text.utf8))?.message.hasSuffix(words) == true)
    }

    @Test("A key that is not UTF-8 is told apart from a bundle ID with a foreign letter")
    func notUTF8() {
        #expect(parseFault([0x63, 0xFF, 0x6D]) == .keyNotUTF8)
        #expect(parseFault([0xC0, 0xAF, 0x23, 0x31]) == .keyNotUTF8)
    }

    @Test("The longest bundle ID allowed is accepted")
    func longest() throws {
        let text = String(repeating: "a", count: RecordKeyView.bundleIDLimitBytes)
        #expect(try parse(Array(text.utf8)).bundleID == text)
    }

    @Test("A key cannot be built of a bundle ID that could not be parsed")
    func building() {
        #expect(throws: RecordError.self) { try RecordKey(bundleID: "") }
        #expect(throws: RecordError.self) { try RecordKey(bundleID: "com.example#1") }
        #expect(throws: RecordError.self) { try RecordKey(bundleID: "com.exämple.that.is.long.enough", shard: 1) }
    }

    @Test("A token's shard is its CRC-32 modulo the spread; without a spread the key has no shard")
    func shards() throws {
        let token = [UInt8](0..<32)
        try token.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            #expect(RecordKey.shard(of: bytes, spread: 1) == 0)
            #expect(RecordKey.shard(of: bytes, spread: 16) == 0x9126_7E8A % 16)
            #expect(RecordKey.shard(of: bytes, spread: 7) == 0x9126_7E8A % 7)
            let whole = try RecordKey(bundleID: "a.b", token: bytes, spread: 1)
            #expect(whole.description == "a.b")
            let spread = try RecordKey(bundleID: "a.b", token: bytes, spread: 16)
            #expect(spread.description == "a.b#10")
        }
    }

    @Test("Any bytes either parse to a key that says them again, or are refused")
    func anyBytes() {
        var generator = SeededGenerator(seed: 7)
        let alphabet: [UInt8] = Array("ab.#019-".utf8) + [0x00, 0x80, 0xFF, 0xC3, 0xA4]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            if let key = try? parse(bytes) { #expect(Array(key.description.utf8) == bytes) }
        }
    }

    private func parse(_ bytes: [UInt8]) throws -> RecordKey {
        try bytes.withUnsafeBytes { try RecordKey(parsing: $0) }
    }

    private func parseFault(_ bytes: [UInt8]) -> RecordFault? { parseError(bytes)?.fault }

    private func parseError(_ bytes: [UInt8]) -> RecordError? {
        do {
            _ = try parse(bytes)
            return nil
        } catch {
            return error as? RecordError
        }
    }
}
