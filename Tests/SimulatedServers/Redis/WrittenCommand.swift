import NIOCore
import PushTopics

@testable import RedisClient

/// A command as a Redis server reads it.
struct WrittenCommand {
    /// The name of a command, or the script that is called.
    enum Kind: Hashable, ExpressibleByStringLiteral {
        case named(String)
        case calls(RedisScript)

        init(stringLiteral name: String) { self = .named(name) }
    }

    /// Nil: no script is called.
    let script: RedisScript?
    /// The name and the arguments; of a script's call the keys and the arguments.
    let words: [[UInt8]]
    /// Of a script's call.
    let keyCount: Int

    /// - Parameter write: writes one command.
    init(_ write: (inout RedisCommandWriter) -> Void) {
        script = nil
        words = Self.words(write)
        keyCount = 0
    }

    /// The call of a script as `RedisPipeline.evaluate` is asked for it.
    init(_ script: RedisScript, keyCount: Int, argumentCount: Int, _ write: (inout RedisCommandWriter) -> Void) {
        self.script = script
        words = Array(
            Self.words { writer in
                writer.command("EVALSHA", argumentCount: keyCount + argumentCount)
                write(&writer)
            }.dropFirst()
        )
        self.keyCount = keyCount
    }

    /// The name; of a script's call none.
    var name: String { script == nil ? text(0) : "" }

    var kind: Kind { script.map { .calls($0) } ?? .named(name) }

    var keys: ArraySlice<[UInt8]> { words.prefix(keyCount) }

    var arguments: ArraySlice<[UInt8]> { words.dropFirst(keyCount) }

    /// A word as text.
    func text(_ index: Int) -> String { String(decoding: words[index], as: UTF8.self) }

    /// A word as a number in decimal; nil: it is none.
    func number(_ index: Int) -> Int? { Int(text(index)) }

    /// Reads one command in the protocol's text form: `*n`, then `$length` and bytes each.
    private static func words(_ write: (inout RedisCommandWriter) -> Void) -> [[UInt8]] {
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        write(&writer)
        return writer.finish().withUnsafeReadableBytes { bytes in
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

/// A client of Redis that a test or the simulation plays: it takes each command as its words.
protocol WrittenPipeline: RedisPipeline {
    func take(_ command: WrittenCommand, _ completion: @escaping RedisConnection.Completion)
}

extension WrittenPipeline {
    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        take(WrittenCommand(write), completion)
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        take(WrittenCommand(script, keyCount: keyCount, argumentCount: argumentCount, write), completion)
    }
}
