import Foundation
import Testing

@testable import BelfrySupport

@Suite("JSON lines")
struct JSONLineTests {
    @Test("No character of a text is one that a terminal obeys, and the text is the same when it is read")
    func controls() throws {
        let scalars = (0..<0x250 as Range<UInt32>).compactMap { Unicode.Scalar($0) }
        let text = String(String.UnicodeScalarView(scalars)) + "\u{2028}€"
        var line = JSONLine()
        line.append("text", text)
        #expect(!line.text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(line.text.contains("\\u001b") && line.text.contains("\\u007f") && line.text.contains("\\u009b"))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(line.text.utf8)) == ["text": text])
    }

    @Test("Characters whose last byte is one of a control character's stay as they are")
    func others() {
        var line = JSONLine()
        line.append("a", "ÀÂÃ€Ā‘’Ω")
        #expect(line.text == #"{"a":"ÀÂÃ€Ā‘’Ω"}"#)
    }
}
