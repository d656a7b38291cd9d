import RedisClient

/// The Redis keys of one bundle in one environment. The version of the ``TokenLayout`` is part of their names.
///
/// All keys about a token share the hash tag `{<environment>:<bundle>:<xx>}`, so that they lie in one slot of a Redis
/// Cluster. `xx` is the number of the token's tag (``TokenLayout``) as two hexadecimal digits:
///
/// - `t3:<tag>:<bucket>`: a hash of about 64 tokens; the field is the hash and the token, the value a ``TokenRecord``.
/// - `n3:<tag>`: the number of the tag's buckets (``TokenBuckets``), in decimal; missing: one.
package struct TokenKeys: Sendable {
    /// The number of hash tags of a bundle.
    package static let tags = 256

    /// `t3:{<environment>:<bundle>:`
    private let bucketPrefix: [UInt8]
    /// `n3:{<environment>:<bundle>:`
    private let directoryPrefix: [UInt8]
    private let slots: [RedisSlot]

    /// Length of `<xx>}`.
    private static let tagEndBytes = 3

    init(environment: String, bundleID: String) {
        bucketPrefix = Array("\(TokenLayout.bucketPrefix){\(environment):\(bundleID):".utf8)
        directoryPrefix = Array("\(TokenLayout.directoryPrefix){\(environment):\(bundleID):".utf8)
        let prefix = directoryPrefix
        slots = (0..<Self.tags).map { tag in
            var key = prefix + [0, 0, 0]
            key.withUnsafeMutableBytes { Self.writeTagEnd(tag: tag, into: $0, at: prefix.count) }
            return RedisSlot(key: key)
        }
    }

    /// The slot of a tag's keys in a Redis Cluster.
    package func slot(tag: Int) -> RedisSlot { slots[tag] }

    /// The key of the directory.
    func directory(tag: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: directoryBytes) { buffer, initialized in
            writeDirectory(tag: tag, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = directoryBytes
        }
    }

    /// Writes the key of the directory as an argument.
    func writeDirectory(tag: Int, to writer: inout RedisCommandWriter) {
        writer.argument(byteCount: directoryBytes) { writeDirectory(tag: tag, into: $0) }
    }

    private var directoryBytes: Int { directoryPrefix.count + Self.tagEndBytes }

    private func writeDirectory(tag: Int, into room: UnsafeMutableRawBufferPointer) {
        room.copyBytes(from: directoryPrefix)
        Self.writeTagEnd(tag: tag, into: room, at: directoryPrefix.count)
    }

    /// The key of a bucket.
    func bucket(_ number: Int, tag: Int) -> [UInt8] {
        let count = bucketBytes(number)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            writeBucket(number, tag: tag, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    /// Writes the key of a bucket as an argument.
    func writeBucket(_ number: Int, tag: Int, to writer: inout RedisCommandWriter) {
        writer.argument(byteCount: bucketBytes(number)) { writeBucket(number, tag: tag, into: $0) }
    }

    /// Length of a bucket's key.
    func bucketBytes(_ number: Int) -> Int {
        bucketPrefix.count + Self.tagEndBytes + 1 + Self.digits(number)
    }

    /// Writes a bucket's key into `room`, which has ``bucketBytes(_:)`` bytes.
    func writeBucket(_ number: Int, tag: Int, into room: UnsafeMutableRawBufferPointer) {
        room.copyBytes(from: bucketPrefix)
        Self.writeTagEnd(tag: tag, into: room, at: bucketPrefix.count)
        var end = bucketBytes(number)
        var rest = number
        repeat {
            end -= 1
            room[end] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        room[end - 1] = UInt8(ascii: ":")
    }

    /// Writes `<xx>}`, the end of the hash tag.
    static func writeTagEnd(tag: Int, into room: UnsafeMutableRawBufferPointer, at index: Int) {
        room[index] = hexadecimal(tag >> 4)
        room[index + 1] = hexadecimal(tag & 15)
        room[index + 2] = UInt8(ascii: "}")
    }

    /// Worked out, because the threads of all event loops would count references to a table.
    private static func hexadecimal(_ digit: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: digit) &+ (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    private static func digits(_ number: Int) -> Int {
        var count = 1
        var rest = number / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }
}
