import PushSchemas
import RedisClient

/// The Redis keys of one bundle in one environment; layout version 2, which is part of the keys' names.
///
/// All keys about a token share the hash tag `{<environment>:<bundle>:<xx>}`, `xx` being the top eight bits of the
/// token's CRC-32 as two hexadecimal digits, so that they lie in one slot of a Redis Cluster:
///
/// - `t2:<tag>:<bucket>`: a hash of about 64 tokens; the field is the token as raw bytes, the value a ``TokenRecord``.
/// - `n2:<tag>`: the number of the tag's buckets (``TokenBuckets``), in decimal; missing: one.
package struct TokenKeys: Sendable {
    /// The number of hash tags of a bundle, numbered by ``tag(checksum:)``.
    static let tags = 256

    /// `t2:{<environment>:<bundle>:`
    private let bucketPrefix: [UInt8]
    /// `n2:{<environment>:<bundle>:`
    private let directoryPrefix: [UInt8]
    private let slots: [RedisSlot]

    private static let hexadecimal = Array("0123456789abcdef".utf8)
    /// Length of `<xx>}`.
    private static let tagEndBytes = 3

    init(environment: String, bundleID: String) {
        bucketPrefix = Array("t2:{\(environment):\(bundleID):".utf8)
        directoryPrefix = Array("n2:{\(environment):\(bundleID):".utf8)
        let prefix = directoryPrefix
        slots = (0..<Self.tags).map { tag in
            var key = prefix + [0, 0, 0]
            key.withUnsafeMutableBytes { Self.writeTagEnd(tag: tag, into: $0, at: prefix.count) }
            return RedisSlot(key: key)
        }
    }

    /// The number of a token's hash tag.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    static func tag(checksum: UInt32) -> Int { Int(checksum >> 24) }

    /// The slot of a tag's keys in a Redis Cluster.
    func slot(tag: Int) -> RedisSlot { slots[tag] }

    /// The slot of all keys about a token in a Redis Cluster.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    package func slot(checksum: UInt32) -> RedisSlot { slots[Self.tag(checksum: checksum)] }

    /// The key of the directory.
    func directory(tag: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: directoryPrefix.count + Self.tagEndBytes) { buffer, initialized in
            let room = UnsafeMutableRawBufferPointer(buffer)
            room.copyBytes(from: directoryPrefix)
            Self.writeTagEnd(tag: tag, into: room, at: directoryPrefix.count)
            initialized = directoryPrefix.count + Self.tagEndBytes
        }
    }

    /// The key of a bucket.
    func bucket(_ number: Int, tag: Int) -> [UInt8] {
        let count = bucketBytes(number)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            writeBucket(number, tag: tag, into: UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
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
        room[index] = hexadecimal[tag >> 4]
        room[index + 1] = hexadecimal[tag & 15]
        room[index + 2] = UInt8(ascii: "}")
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
