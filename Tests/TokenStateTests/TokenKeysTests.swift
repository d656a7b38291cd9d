import RedisClient
import Testing

@testable import TokenState

/// The layout of the keys is a contract: other programs read the same Redis.
@Suite struct TokenKeysTests {
    private let keys = TokenKeys(environment: "sandbox", bundleID: "com.example.news")

    private func text(_ key: [UInt8]) -> String { String(decoding: key, as: UTF8.self) }

    @Test("A bucket is t2:{environment:bundle:xx}:number, its directory n2:{environment:bundle:xx}; or t3:, n3:")
    func layout() {
        let tag = 0xCB
        #expect(text(keys.bucket(0, tag: tag, .unkeyed)) == "t2:{sandbox:com.example.news:cb}:0")
        #expect(text(keys.bucket(1_048_576, tag: tag, .unkeyed)) == "t2:{sandbox:com.example.news:cb}:1048576")
        #expect(text(keys.directory(tag: tag, .unkeyed)) == "n2:{sandbox:com.example.news:cb}")
        #expect(text(keys.bucket(10, tag: 5, .keyed)) == "t3:{sandbox:com.example.news:05}:10")
        #expect(text(keys.directory(tag: 5, .keyed)) == "n3:{sandbox:com.example.news:05}")
    }

    @Test("All keys of a tag lie in one slot, which is the one announced, for each of the 256 tags")
    func slots() {
        var seen: Set<RedisSlot> = []
        for tag in 0..<TokenKeys.tags {
            let slot = keys.slot(tag: tag)
            for layout in TokenLayout.allCases {
                #expect(RedisSlot(key: keys.directory(tag: tag, layout)) == slot)
                for bucket in [0, 9, 10, 12_345] {
                    #expect(RedisSlot(key: keys.bucket(bucket, tag: tag, layout)) == slot)
                }
            }
            seen.insert(slot)
        }
        #expect(seen.count > 240)
    }

    @Test("A bucket's key has the announced length and is written where it is told")
    func lengths() {
        for bucket in [0, 1, 9, 10, 99, 100, 16_777_215] {
            let key = keys.bucket(bucket, tag: 255, .keyed)
            #expect(keys.bucketBytes(bucket) == key.count)
            var buffer = [UInt8](repeating: 0xFF, count: key.count + 1)
            buffer.withUnsafeMutableBytes { keys.writeBucket(bucket, tag: 255, .keyed, into: $0) }
            #expect(Array(buffer.dropLast()) == key)
            #expect(buffer.last == 0xFF)
        }
    }
}

@Suite struct TokenBucketsTests {
    @Test("Every token is where the last split left it: splitting moves from one bucket to the new one only")
    func splitting() {
        for count in 1..<300 {
            let source = TokenBuckets.nextSplit(count: count)
            #expect((0..<count).contains(source))
            for hash in UInt32(0)..<2048 {
                let before = TokenBuckets.index(hash: hash, count: count)
                let after = TokenBuckets.index(hash: hash, count: count + 1)
                #expect((0..<count).contains(before))
                #expect(after == before || (before == source && after == count))
            }
            // About half of what was there moves.
            let moved = (UInt32(0)..<2048).count { TokenBuckets.index(hash: $0, count: count + 1) == count }
            #expect(moved > 0)
        }
    }

    @Test("The hash of layout 2 is the polynomial 65599 of the bytes, modulo 2^24")
    func hash() {
        func hash(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { TokenBuckets.polynomial($0) } }
        #expect(hash([]) == 0)
        #expect(hash([7]) == 7)
        #expect(hash([1, 2]) == 65_601)
        let sum: UInt64 = 255 * 65_599 * 65_599 + 255 * 65_599 + 255
        #expect(hash([255, 255, 255]) == UInt32(sum % 16_777_216))
    }
}
