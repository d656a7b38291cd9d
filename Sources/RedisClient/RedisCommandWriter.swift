public import NIOCore

/// Writes one command as RESP2 (an array of bulk strings) straight into the outgoing buffer. It makes no array of
/// arguments, and no allocation per argument.
///
/// ```swift
/// writer.command("MGET", argumentCount: keys.count)
/// for key in keys { writer.argument(key) }
/// ```
///
/// RESP states the number of arguments before the first one, and a wrong number would shift every later reply of the
/// connection by one. So ``command(_:argumentCount:)`` comes first and exactly once, and exactly that many arguments
/// follow; anything else traps.
///
/// Source: Redis serialization protocol specification, "Sending commands to a Redis server".
public struct RedisCommandWriter {
    /// Longest frame around the bytes of an argument: `$`, 19 digits, two line ends.
    @usableFromInline static let frameBytes = 1 + 19 + 2 + 2

    @usableFromInline var buffer: ByteBuffer
    /// Arguments still to come; -1 before ``command(_:argumentCount:)``.
    @usableFromInline var missing = -1

    init(buffer: consuming ByteBuffer) {
        self.buffer = buffer
    }

    /// Gives the buffer back, with one whole command more in it.
    consuming func finish() -> ByteBuffer {
        endCommand()
        return buffer
    }

    /// Ends the command; another one may follow in the same buffer.
    mutating func endCommand() {
        precondition(missing == 0, "a command was written with \(missing) of its arguments missing")
        missing = -1
    }

    /// Begins the command.
    ///
    /// - Parameters:
    ///   - name: The command's first word, such as `MGET`; a second word (`CLIENT LIST`) is an argument.
    ///   - argumentCount: The number of arguments that follow, from 0 on.
    @inlinable
    public mutating func command(_ name: StaticString, argumentCount: Int) {
        precondition(missing == -1, "one command at a time")
        precondition(argumentCount >= 0)
        let word = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 2 * Self.frameBytes + word.count) { output in
            let header = Self.writeHeader(UInt8(ascii: "*"), argumentCount + 1, into: output)
            let rest = UnsafeMutableRawBufferPointer(rebasing: output[header...])
            return header + Self.writeArgument(byteCount: word.count, into: rest) { $0.copyMemory(from: word) }
        }
        missing = argumentCount
    }

    /// Writes an argument of bytes, copied before the call returns. Any bytes are allowed, also none.
    @inlinable
    public mutating func argument(_ bytes: UnsafeRawBufferPointer) {
        argument(byteCount: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Writes an argument of `byteCount` bytes that the caller fills in place, for a key made of parts.
    ///
    /// - Parameters:
    ///   - byteCount: The exact length, from 0 on.
    ///   - fill: Must set every one of the `byteCount` bytes; the pointer is valid during the call only.
    @inlinable
    public mutating func argument(byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        precondition(missing > 0, "more arguments than announced")
        precondition(byteCount >= 0)
        missing -= 1
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: byteCount + Self.frameBytes) { output in
            Self.writeArgument(byteCount: byteCount, into: output, fill)
        }
    }

    @inlinable
    public mutating func argument(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { argument($0) }
    }

    /// Writes an argument in UTF-8.
    @inlinable
    public mutating func argument(_ text: String) {
        var text = text
        text.withUTF8 { argument(UnsafeRawBufferPointer($0)) }
    }

    /// Writes an argument in decimal, Redis' form of numbers.
    @inlinable
    public mutating func argument(_ number: Int) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var count = 0
            if number < 0 {
                digits[0] = UInt8(ascii: "-")
                count = 1
            }
            count += Self.writeDecimal(
                number.magnitude,
                into: UnsafeMutableRawBufferPointer(rebasing: digits[count...])
            )
            argument(UnsafeRawBufferPointer(rebasing: digits[..<count]))
        }
    }

    /// Writes an argument with its frame; returns the length of both.
    @inlinable
    static func writeArgument(
        byteCount: Int,
        into output: UnsafeMutableRawBufferPointer,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Int {
        let header = writeHeader(UInt8(ascii: "$"), byteCount, into: output)
        fill(UnsafeMutableRawBufferPointer(rebasing: output[header..<(header + byteCount)]))
        output[header + byteCount] = UInt8(ascii: "\r")
        output[header + byteCount + 1] = UInt8(ascii: "\n")
        return header + byteCount + 2
    }

    /// Writes `<type><count>\r
    /// `; returns its length.
    @inlinable
    @discardableResult
    static func writeHeader(_ type: UInt8, _ count: Int, into output: UnsafeMutableRawBufferPointer) -> Int {
        output[0] = type
        let digits = writeDecimal(count.magnitude, into: UnsafeMutableRawBufferPointer(rebasing: output[1...]))
        output[digits + 1] = UInt8(ascii: "\r")
        output[digits + 2] = UInt8(ascii: "\n")
        return digits + 3
    }

    /// Writes the number in decimal; returns the number of digits (1…20).
    @inlinable
    static func writeDecimal(_ number: UInt, into output: UnsafeMutableRawBufferPointer) -> Int {
        var count = 1
        var rest = number / 10
        while rest > 0 {
            rest /= 10
            count += 1
        }
        rest = number
        for index in stride(from: count - 1, through: 0, by: -1) {
            output[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        return count
    }
}
