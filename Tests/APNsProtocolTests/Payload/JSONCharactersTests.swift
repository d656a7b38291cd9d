import APNsProtocol
import Testing

/// Escapes and characters that are not ASCII, as every pass over a payload reads them.
@Suite struct JSONCharactersTests {
    private func end(_ bytes: [UInt8], from first: Int = 0) -> Result<Int, PayloadError> {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return .success(0) }
            let characters = JSONCharacters(base, count: bytes.count)
            return Result { () throws(PayloadError) in try characters.endOfSpecialCharacters(first) }
        }
    }

    private func isKey(_ text: String, _ name: StaticString) -> Bool {
        Array(text.utf8).withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return JSONCharacters(base, count: bytes.count).isEscapedKey(0, bytes.count, name)
        }
    }

    @Test(
        "Escapes and characters outside ASCII are passed over up to the next plain character, or the end",
        arguments: [
            (#"\n"#, 2), (#"\u00e4x"#, 6), (#"\\\"""#, 4), (#"\uD834\uDD1Ex"#, 12), ("éx", 2), ("€\"", 3),
            ("😀\\u0041é\\tz\\n", 14), ("x\\n", 0),
        ]
    )
    func rows(text: String, length: Int) {
        #expect(end(Array(text.utf8)) == .success(length))
        #expect(end(Array("ab\(text)".utf8), from: 2) == .success(length + 2))
    }

    @Test("A row that breaks off or breaks a rule is refused at the byte that breaks it")
    func broken() {
        #expect(end(Array("é\\".utf8)) == .failure(PayloadError(rule: .unexpectedEnd, offset: 3)))
        #expect(end(Array(#"\u00"#.utf8)) == .failure(PayloadError(rule: .unexpectedEnd, offset: 4)))
        #expect(end(Array(#"\n\x"#.utf8)) == .failure(PayloadError(rule: .invalidEscape, offset: 3)))
        #expect(end(Array(#"\n\uDC00"#.utf8)) == .failure(PayloadError(rule: .unpairedSurrogate, offset: 2)))
        #expect(end(Array("é\u{1F}".utf8)) == .failure(PayloadError(rule: .controlCharacter, offset: 2)))
        #expect(end([0xC3, 0xA9, 0xE2, 0x82]) == .failure(PayloadError(rule: .invalidUTF8, offset: 2)))
    }

    @Test("A key is the same however many of its letters are escaped, and no other key is")
    func keys() {
        for key in ["aps", #"\u0061ps"#, #"a\u0070s"#, #"\u0061\u0070\u0073"#] {
            #expect(isKey(key, "aps"), "\(key)")
            #expect(!isKey(key, "ap") && !isKey(key, "apss") && !isKey(key, "apt"), "\(key)")
        }
        #expect(isKey(#"content\u002Davailable"#, "content-available"))
        for key in [#"\tps"#, #"\u0061\u0070"#, #"\u0061\u0070\u0073\u0073"#, #"\u0161ps"#] {
            #expect(!isKey(key, "aps"), "\(key)")
        }
    }
}
