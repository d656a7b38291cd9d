import CHiredis
import NIOCore
import TestSupport
import Testing

@testable import RedisClient

@Suite("Encoding of commands")
struct RedisCommandWriterTests {
    @Test("Commands are encoded as hiredis encodes them", arguments: UInt64(0)..<50)
    func encodesAsHiredis(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        for _ in 0..<20 {
            let arguments = (0..<Int.random(in: 0...12, using: &random)).map { _ in random.bytes(upTo: 120) }
            var writer = RedisCommandWriter(buffer: buffer)
            writer.command("COMMAND", argumentCount: arguments.count)
            for argument in arguments { writer.argument(argument) }
            buffer = writer.finish()
            expected += formattedByHiredis([Array("COMMAND".utf8)] + arguments)
        }
        #expect(Array(buffer.readableBytesView) == expected)
    }

    @Test("Commands follow one another in one writer")
    func manyCommands() {
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        for name: StaticString in ["X", "Y"] {
            writer.command(name, argumentCount: 1)
            writer.argument("a")
            writer.endCommand()
        }
        let commands = ["X", "Y"].map { "*2\r\n$1\r\n\($0)\r\n$1\r\na\r\n" }
        #expect(String(buffer: writer.buffer) == commands.joined())
    }

    @Test("A number is written in decimal", arguments: [0, 7, 10, -1, 999, 1000, Int.max, Int.min])
    func numbers(number: Int) {
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        writer.command("X", argumentCount: 1)
        writer.argument(number)
        let text = String(number)
        #expect(String(buffer: writer.finish()) == "*2\r\n$1\r\nX\r\n$\(text.utf8.count)\r\n\(text)\r\n")
    }

    @Test("An argument put together in place equals one copied")
    func inPlace() {
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        writer.command("X", argumentCount: 2)
        writer.argument(byteCount: 5) { output in
            output.copyBytes(from: Array("ab".utf8))
            output[2...].copyBytes(from: Array("cde".utf8))
        }
        writer.argument(byteCount: 0) { #expect($0.isEmpty) }
        #expect(String(buffer: writer.finish()) == "*3\r\n$1\r\nX\r\n$5\r\nabcde\r\n$0\r\n\r\n")
    }

    @Test("A long argument gets its whole length")
    func longArgument() {
        let argument = [UInt8](repeating: 0x0D, count: 1_234_567)
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        writer.command("X", argumentCount: 1)
        writer.argument(argument)
        #expect(Array(writer.finish().readableBytesView) == formattedByHiredis([Array("X".utf8), argument]))
    }

    @Test("Too few arguments trap rather than shift every later reply")
    func tooFew() async {
        await #expect(processExitsWith: .failure) {
            var writer = RedisCommandWriter(buffer: ByteBuffer())
            writer.command("GET", argumentCount: 1)
            _ = writer.finish()
        }
    }

    @Test("Too many arguments trap rather than shift every later reply")
    func tooMany() async {
        await #expect(processExitsWith: .failure) {
            var writer = RedisCommandWriter(buffer: ByteBuffer())
            writer.command("GET", argumentCount: 1)
            writer.argument("a")
            writer.argument("b")
        }
    }

    @Test("A second command in one writer traps")
    func secondCommand() async {
        await #expect(processExitsWith: .failure) {
            var writer = RedisCommandWriter(buffer: ByteBuffer())
            writer.command("PING", argumentCount: 0)
            writer.command("PING", argumentCount: 0)
        }
    }

    private func formattedByHiredis(_ words: [[UInt8]]) -> [UInt8] {
        let storage = words.map { word in
            let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: word.count)
            _ = copy.initialize(from: word.map { CChar(bitPattern: $0) })
            return copy
        }
        defer { for copy in storage { copy.deallocate() } }
        var pointers = storage.map { UnsafePointer($0.baseAddress) }
        let lengths = words.map(\.count)
        var formatted: UnsafeMutablePointer<CChar>?
        let count = redisFormatCommandArgv(&formatted, Int32(words.count), &pointers, lengths)
        defer { redisFreeCommand(formatted) }
        return UnsafeRawBufferPointer(start: formatted, count: Int(count)).map { $0 }
    }
}
