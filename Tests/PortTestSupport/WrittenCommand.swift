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
        command.withUnsafeReadableBytes { bytes in
            var place = 0
            let count = number(bytes, &place)
            return (0..<count).map { _ in
                let end = number(bytes, &place)
                precondition(place + end <= bytes.count, "a command has as many words as it says")
                let word = Array(bytes[place..<place + end])
                place += end + 2
                return word
            }
        }
    }

    /// The number of a line after its type; the place is behind the line then.
    private static func number(_ bytes: UnsafeRawBufferPointer, _ place: inout Int) -> Int {
        var value = 0
        place += 1
        while true {
            precondition(place < bytes.count, "a command has as many words as it says")
            guard bytes[place] != UInt8(ascii: "\r") else { break }
            value = value * 10 + Int(bytes[place] & 15)
            place += 1
        }
        place += 2
        return value
    }
}
