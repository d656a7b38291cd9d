import Testing

@testable import PushSchemas

@Suite("Others' text in messages")
struct ShortenedTextTests {
    @Test("A text within the limit stays, and a longer one is cut to it and marked")
    func limit() {
        #expect("abcdef".shortened(toBytes: 6) == "abcdef")
        #expect("abcdefg".shortened(toBytes: 6) == "abc…")
        #expect(String(repeating: "x", count: 1 << 20).shortened(toBytes: 1024).utf8.count == 1024)
    }

    @Test(
        "No character is cut, be it of several bytes or of several scalars",
        arguments: ["äöü", "日本語", "👩‍👩‍👧‍👦", "é\u{301}", "🇩🇪🇫🇷", "\r\n"]
    )
    func characters(text: String) {
        let long = String(repeating: text, count: 50)
        for limit in 3...long.utf8.count {
            let short = long.shortened(toBytes: limit)
            #expect(short.utf8.count <= limit)
            guard short != long else { continue }
            #expect(short.last == "…" && long.hasPrefix(String(short.dropLast())))
            #expect(Array(long).starts(with: Array(short.dropLast())))
        }
    }

    @Test("A character without end is cut between its scalars")
    func endless() {
        let text = "e" + String(repeating: "\u{301}", count: 10_000)
        let short = text.shortened(toBytes: 1024)
        #expect((900...1024).contains(short.utf8.count))
    }

    @Test("Characters are looked for in a part that is hardly longer than what is asked for, however long they are")
    func beginning() {
        for text in ["x", "é", "e\u{301}", "日本語", "👩‍👩‍👧‍👦", "e" + String(repeating: "\u{301}", count: 10_000)] {
            let long = String(repeating: text, count: 20_000 / text.utf8.count + 1)
            for bytes in 1...100 {
                let part = long.beginning(holding: bytes)
                #expect((bytes + 1...bytes + 4).contains(part.utf8.count) && long.utf8.starts(with: part.utf8))
                #expect(part.unicodeScalars.elementsEqual(long.unicodeScalars.prefix(part.unicodeScalars.count)))
            }
            #expect(text.beginning(holding: text.utf8.count) == text)
        }
    }

    @Test("A refusal quotes no more than a part of a record, whichever rule makes it")
    func refusal() {
        let refusal = RecordRefusal(reason: "r", detail: "'" + String(repeating: "ä", count: 1 << 19) + "'")
        #expect(refusal.detail.utf8.count <= 1024 && refusal.detail.hasSuffix("ä…"))
    }
}
