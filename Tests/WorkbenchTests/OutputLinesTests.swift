import Testing

@testable import Workbench

@Suite("Lines from a child process")
struct OutputLinesTests {
    @Test("Lines come one by one, however the writer cut them")
    func chunking() {
        let lines = OutputLines()
        lines.append(Array("one\ntw".utf8)[...])
        #expect(lines.next(within: .seconds(1)) == "one")
        lines.append(Array("o\n\nrest".utf8)[...])
        #expect(lines.next(within: .seconds(1)) == "two")
        #expect(lines.next(within: .seconds(1))?.isEmpty == true)
    }

    @Test("A writer that closes or says nothing gives no line, and an unfinished line is none")
    func ends() {
        let lines = OutputLines()
        #expect(lines.next(within: .zero) == nil)
        lines.append(Array("unfinished".utf8)[...])
        lines.end()
        #expect(lines.next(within: .seconds(1)) == nil)
    }

    @Test("The rest is what no line took, the unfinished one included")
    func rest() {
        let lines = OutputLines()
        lines.append(Array("one\ntwo\nunfin".utf8)[...])
        #expect(lines.next(within: .seconds(1)) == "one")
        lines.append(Array("ished".utf8)[...])
        lines.end()
        #expect(lines.rest() == "two\nunfinished")
        #expect(lines.rest().isEmpty)
    }
}
