import Foundation
import Testing

@testable import belfry_bench

@Suite("Lines from a child process")
struct LineReaderTests {
    @Test("Lines come one by one, however the writer cut them")
    func chunking() throws {
        let pipe = Pipe()
        var reader = LineReader(descriptor: pipe.fileHandleForReading.fileDescriptor)
        try pipe.fileHandleForWriting.write(contentsOf: Data("one\ntw".utf8))
        #expect(reader.next(milliseconds: 1000) == "one")
        try pipe.fileHandleForWriting.write(contentsOf: Data("o\n\nrest".utf8))
        #expect(reader.next(milliseconds: 1000) == "two")
        #expect(reader.next(milliseconds: 1000)?.isEmpty == true)
    }

    @Test("A writer that closes or says nothing gives no line, and an unfinished line is none")
    func ends() throws {
        let pipe = Pipe()
        var reader = LineReader(descriptor: pipe.fileHandleForReading.fileDescriptor)
        #expect(reader.next(milliseconds: 0) == nil)
        try pipe.fileHandleForWriting.write(contentsOf: Data("unfinished".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(reader.next(milliseconds: 1000) == nil)
    }
}
