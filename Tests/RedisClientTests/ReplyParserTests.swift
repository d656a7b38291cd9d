import RedisClient
import TestSupport
import Testing

@testable import RedisClient

@Suite("Parsing of replies")
struct ReplyParserTests {
    @Test("Replies are the same in every chunking of the stream", arguments: UInt64(0)..<100)
    func chunking(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let values = (0..<40).map { _ in ReplyValue.random(using: &random) }
        let stream = values.flatMap(\.encoded)
        let parser = ReplyParser(limitBytes: 1 << 20)
        let longest = [1, 2, 7, 100, 5000][Int(seed % 5)]
        var parsed: [ReplyValue] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(Int.random(in: 1...longest, using: &random))
            rest = rest.dropFirst(chunk.count)
            parsed += try feed(parser, Array(chunk))
        }
        #expect(parsed == values)
    }

    @Test("A reply much larger than a slice and the first arena comes out whole")
    func largeReply() throws {
        let elements = (0..<5000).map { ReplyValue.string([UInt8](repeating: UInt8($0 % 251), count: $0 % 700)) }
        let value = ReplyValue.array([.array(elements), .string([UInt8](repeating: 1, count: 3 << 20)), .null])
        let parser = ReplyParser(limitBytes: 16 << 20)
        #expect(try feed(parser, value.encoded + ReplyValue.integer(1).encoded) == [value, .integer(1)])
    }

    @Test("A null array is null, an empty array and an empty string are not")
    func emptyValues() throws {
        let parser = ReplyParser(limitBytes: 1000)
        #expect(try feed(parser, "*-1\r\n*0\r\n$0\r\n\r\n") == [.null, .array([]), .string([])])
    }

    @Test("Accessors of another kind are empty or nil")
    func otherKinds() throws {
        let parser = ReplyParser(limitBytes: 1000)
        try Array("*2\r\n:5\r\n-ERR no\r\n".utf8).withUnsafeBytes { bytes in
            try parser.feed(bytes) { reply in
                #expect(reply.kind == .array && reply.count == 2 && reply.integer == nil && reply.string == nil)
                #expect(reply.bytes.isEmpty && !reply.isNull && reply.error == nil)
                #expect(reply[0].integer == 5 && reply[0].count == 0 && reply[0].bytes.isEmpty)
                #expect(reply[1].error == .server(prefix: "ERR", message: "no"))
                return true
            }
        }
    }

    @Test("A reply beyond the limit ends the stream, however it announces itself")
    func limit() {
        let long = ReplyValue.string([UInt8](repeating: 0, count: 2000)).encoded
        let many = ReplyValue.array((0..<100).map { .integer($0) }).encoded
        for input in [long, many, Array("*2000000000\r\n".utf8), Array("$2000000000\r\n".utf8) + long] {
            let parser = ReplyParser(limitBytes: 1000)
            #expect(throws: ReplyParser.Failure.tooLarge(limitBytes: 1000)) { try feed(parser, input) }
        }
    }

    @Test("A reply at the limit is let through, and so are any number of small ones")
    func withinLimit() throws {
        let parser = ReplyParser(limitBytes: 1000)
        let value = ReplyValue.string([UInt8](repeating: 7, count: 900))
        for _ in 0..<100 {
            #expect(try feed(parser, value.encoded) == [value])
        }
    }

    @Test(
        "What is not RESP2 ends the stream with hiredis' words",
        arguments: ["HTTP/1.1 400 Bad Request\r\n", "$x\r\n", ":\r\n:1x\r\n", "*-5\r\n", "%1\r\n+a\r\n+b\r\n"]
    )
    func malformed(input: String) {
        let parser = ReplyParser(limitBytes: 1000)
        let failure = #expect(throws: ReplyParser.Failure.self) { try feed(parser, input) }
        guard case .malformed(let text) = failure else {
            Issue.record("not called malformed: \(String(describing: failure))")
            return
        }
        #expect(!text.isEmpty)
    }

    @Test("What follows is not parsed once the connection has been closed in a completion")
    func stops() throws {
        let parser = ReplyParser(limitBytes: 1000)
        var seen = 0
        try Array("+a\r\n+b\r\n".utf8).withUnsafeBytes { bytes in
            try parser.feed(bytes) { _ in
                seen += 1
                return false
            }
        }
        #expect(seen == 1)
    }

    @Test("A reply that is kept beyond its completion traps when it is used")
    func staleReply() async {
        await #expect(processExitsWith: .failure) {
            let parser = ReplyParser(limitBytes: 1000)
            var kept: RedisReply?
            try Array("+a\r\n".utf8).withUnsafeBytes { bytes in
                try parser.feed(bytes) { reply in
                    kept = reply
                    return true
                }
            }
            withExtendedLifetime(parser) { _ = kept?.kind }
        }
    }

    @Test("An element beyond the end traps")
    func elementBeyondEnd() async {
        await #expect(processExitsWith: .failure) {
            let parser = ReplyParser(limitBytes: 1000)
            try Array("*1\r\n:1\r\n".utf8).withUnsafeBytes { bytes in
                try parser.feed(bytes) { reply in
                    reply[1].kind == .integer
                }
            }
        }
    }

    private func feed(_ parser: ReplyParser, _ text: String) throws -> [ReplyValue] {
        try feed(parser, Array(text.utf8))
    }

    private func feed(_ parser: ReplyParser, _ bytes: [UInt8]) throws -> [ReplyValue] {
        var values: [ReplyValue] = []
        try bytes.withUnsafeBytes { bytes in
            try parser.feed(bytes) { reply in
                values.append(ReplyValue(reply))
                return true
            }
        }
        return values
    }
}
