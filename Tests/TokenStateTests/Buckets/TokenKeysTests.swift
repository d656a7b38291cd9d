import RedisClient
import Testing

@testable import TokenState

/// The layout of the keys is a contract: other programs read the same Redis.
@Suite struct TokenKeysTests {
    private let keys = TokenKeys(environment: "sandbox", bundleID: "com.example.news")

    private func text(_ key: [UInt8]) -> String { String(decoding: key, as: UTF8.self) }

    @Test("A bucket is t3:{environment:bundle:xx}:number, its directory n3:{environment:bundle:xx}")
    func layout() {
        #expect(text(keys.bucket(0, tag: 0xCB)) == "t3:{sandbox:com.example.news:cb}:0")
        #expect(text(keys.bucket(1_048_576, tag: 5)) == "t3:{sandbox:com.example.news:05}:1048576")
        #expect(text(keys.directory(tag: 0xCB)) == "n3:{sandbox:com.example.news:cb}")
    }

    @Test("All keys of a tag lie in one slot, which is the one announced, for each of the 256 tags")
    func slots() {
        var seen: Set<RedisSlot> = []
        for tag in 0..<TokenKeys.tags {
            let slot = keys.slot(tag: tag)
            #expect(RedisSlot(key: keys.directory(tag: tag)) == slot)
            for bucket in [0, 9, 10, 12_345] { #expect(RedisSlot(key: keys.bucket(bucket, tag: tag)) == slot) }
            seen.insert(slot)
        }
        #expect(seen.count > 240)
    }

    @Test("A bucket's key has the announced length and is written where it is told")
    func lengths() {
        for bucket in [0, 1, 9, 10, 99, 100, 16_777_215] {
            let key = keys.bucket(bucket, tag: 255)
            #expect(keys.bucketBytes(bucket) == key.count)
            var buffer = [UInt8](repeating: 0xFF, count: key.count + 1)
            buffer.withUnsafeMutableBytes { keys.writeBucket(bucket, tag: 255, into: $0) }
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
}
