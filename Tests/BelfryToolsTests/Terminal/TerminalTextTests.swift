import Foundation
import Testing

@testable import BelfryTools

@Suite("Others' text on a terminal")
struct TerminalTextTests {
    private static let escape = "\u{1B}]0;title\u{7}\u{9B}2J\u{7F}"

    @Test("Lines keep their ends, tabs and words, and nothing that a terminal obeys")
    func lines() {
        #expect(TerminalText.lines("one\ttwo\nthree €") == "one\ttwo\nthree €")
        #expect(TerminalText.lines("a" + Self.escape + "\r\n") == "a·]0;title··2J··\n")
    }

    @Test("JSON of any writer is the same when it is read")
    func json() throws {
        let encoder = JSONEncoder()
        let text = String(decoding: try encoder.encode(["a": Self.escape]), as: UTF8.self)
        let shown = TerminalText.json(text)
        #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(try JSONDecoder().decode([String: String].self, from: Data(shown.utf8)) == ["a": Self.escape])
        #expect(TerminalText.json(#"{"a":1}"#) == #"{"a":1}"#)
    }
}
