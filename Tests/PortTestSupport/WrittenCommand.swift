import NIOCore

@testable import RedisClient

/// A command as a Redis server reads it.
package struct WrittenCommand {
    /// The name and the arguments.
    package let words: [[UInt8]]

    /// - Parameter write: writes one command.
    package init(_ write: (inout RedisCommandWriter) -> Void) {
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        write(&writer)
        words = Self.parse(writer.finish())
    }

    /// The call of a script as `RedisPipeline.evaluate` is asked for it. Its ``words`` are the keys and the arguments.
    package init(keyCount: Int, argumentCount: Int, _ write: (inout RedisCommandWriter) -> Void) {
        let command = WrittenCommand { writer in
            writer.command("EVALSHA", argumentCount: keyCount + argumentCount)
            write(&writer)
        }
        words = Array(command.words.dropFirst())
    }

    /// A word as text.
    package func text(_ index: Int) -> String { String(decoding: words[index], as: UTF8.self) }

    /// A word as a number in decimal; nil: it is none.
    package func number(_ index: Int) -> Int? { Int(text(index)) }

    /// Reads one command in the protocol's text form: `*n`, then `$length` and bytes each.
    private static func parse(_ command: ByteBuffer) -> [[UInt8]] {
        var buffer = command
        func number() -> Int {
            var value = 0
            while let byte = buffer.readInteger(as: UInt8.self), byte != UInt8(ascii: "\r") {
                if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { value = value * 10 + Int(byte & 15) }
            }
            buffer.moveReaderIndex(forwardBy: 1)
            return value
        }
        return (0..<number()).map { _ in
            let bytes = buffer.readBytes(length: number()) ?? []
            buffer.moveReaderIndex(forwardBy: 2)
            return bytes
        }
    }
}
