/// The CRC-32 of IEEE 802.3 (as in zlib, gzip and PNG): it decides the shard of a token.
///
/// Part of the Kafka contract: every producer of a bundle must compute the same one. [ours]
public enum CRC32 {
    /// The checksum of `bytes`.
    ///
    /// Eight bytes a step ("slicing by 8"): 14 ns for a token, which is hashed once per notification. Debian's zlib
    /// takes 64 ns for it: its fast way is for more bytes than a token has.
    public static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let table = tables
        var crc = UInt32.max
        var index = 0
        let count = bytes.count
        while index &+ 8 <= count {
            let low = bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self).littleEndian ^ crc
            let high = bytes.loadUnaligned(fromByteOffset: index &+ 4, as: UInt32.self).littleEndian
            crc =
                table[7 &* 256 &+ Int(low & 0xFF)] ^ table[6 &* 256 &+ Int(low >> 8 & 0xFF)]
                ^ table[5 &* 256 &+ Int(low >> 16 & 0xFF)] ^ table[4 &* 256 &+ Int(low >> 24)]
                ^ table[3 &* 256 &+ Int(high & 0xFF)] ^ table[2 &* 256 &+ Int(high >> 8 & 0xFF)]
                ^ table[256 &+ Int(high >> 16 & 0xFF)] ^ table[Int(high >> 24)]
            index &+= 8
        }
        while index < count {
            crc = table[Int(crc & 0xFF) ^ Int(bytes[index])] ^ (crc >> 8)
            index &+= 1
        }
        return ~crc
    }

    /// Eight tables of 256 entries, end to end: entry `256 * k + b` is the checksum register after byte `b` and `k`
    /// zero bytes. Written once, never freed, read-only afterwards: hence safe to share.
    private nonisolated(unsafe) static let tables: UnsafePointer<UInt32> = {
        let tables = UnsafeMutablePointer<UInt32>.allocate(capacity: 8 * 256)
        for byte in 0..<256 {
            var register = UInt32(byte)
            for _ in 0..<8 {
                register = register & 1 == 1 ? register >> 1 ^ 0xEDB8_8320 : register >> 1
            }
            tables[byte] = register
        }
        for index in 256..<8 * 256 {
            let previous = tables[index - 256]
            tables[index] = tables[Int(previous & 0xFF)] ^ previous >> 8
        }
        return UnsafePointer(tables)
    }()
}
