import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

@Suite struct BundleWalkTests {
    /// The buckets of one hash tag, split as the server does.
    private struct Tag {
        var buckets: [[[UInt8]]] = [[]]

        mutating func split() {
            let source = TokenBuckets.nextSplit(count: buckets.count)
            let all = buckets[source]
            buckets[source] = []
            buckets.append([])
            for token in all { add(token) }
        }

        mutating func add(_ token: [UInt8]) {
            let hash = TokenStore.layout.place(of: token).hash
            buckets[TokenBuckets.index(hash: hash, count: buckets.count)].append(token)
        }
    }

    @Test("Every token is seen, and once, however the buckets are split meanwhile", arguments: 1...40)
    func splitting(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var tags = [Int: Tag]()
        var expected: Set<[UInt8]> = []
        for tag in 0..<TokenKeys.tags {
            var content = Tag()
            for _ in 0..<random.pick(0...12) { content.split() }
            for _ in 0..<random.pick(0...40) {
                let token = [UInt8(tag)] + random.bytes(6)
                if expected.insert(token).inserted { content.add(token) }
            }
            tags[tag] = content
        }
        var walk = BundleWalk(TokenStore.layout)
        var seen: [[UInt8]: Int] = [:]
        var pages = 0
        while true {
            let limit = random.pick(1...64)
            let places = walk.next(limit: limit)
            if places.isEmpty { break }
            #expect(places.count <= limit)
            pages += 1
            var answers: [(place: BundleWalk.Place, count: Int, tokens: [[UInt8]])] = []
            for place in places {
                let tag = tags[place.tag] ?? Tag()
                answers.append((place, tag.buckets.count, tag.buckets[place.bucket]))
                // Every split comes between two answers.
                for _ in 0..<random.pick(0...2) where random.chance(30) {
                    tags[random.chance(50) ? place.tag : random.pick(0...255)]?.split()
                }
            }
            for answer in answers { walk.markRead(answer.place, count: answer.count) }
            for answer in answers {
                for token in answer.tokens where walk.isNew(token, at: answer.place) { seen[token, default: 0] += 1 }
            }
        }
        #expect(Set(seen.keys) == expected)
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(walk.finishedTags == TokenKeys.tags)
        #expect(pages > 256 / 64)
    }

    @Test("A bundle of which nothing is known is 256 buckets")
    func empty() {
        var walk = BundleWalk(TokenStore.layout)
        var read = 0
        while case let places = walk.next(limit: 64), !places.isEmpty {
            read += places.count
            for place in places { walk.markRead(place, count: 1) }
        }
        #expect(read == 256)
    }
}

@Suite struct ParsedKeyTests {
    @Test("The key of a bucket says environment, bundle, tag and number again")
    func buckets() {
        for (tag, bucket) in [(0, 0), (255, 9), (17, 1_000_000)] {
            let key = TokenKeys(environment: "sandbox", bundleID: "com.example.news_2").bucket(bucket, tag: tag)
            let parsed = TokenKeys.Parsed(bucket: key)
            #expect(parsed?.environment == "sandbox")
            #expect(parsed?.bundleID == "com.example.news_2")
            #expect(parsed?.tag == tag)
            #expect(parsed?.bucket == bucket)
        }
    }

    @Test(
        "What is no key of a bucket is nothing",
        arguments: [
            "", "t3:", "n3:{a:b:00}", "t1:{a:b:00}:1", "t3:{a:b:0}:1", "t3:{a:b:00}", "t3:{a:b:00}:", "t3:{a:b:00}:x",
            "t3:{a:00}:1", "t2:{a:b:00}:1", "t3:{a:b:c:00}:1", "t3:{a:b:zz}:1", "t3:{a:b:00}:-1",
        ]
    )
    func others(key: String) {
        #expect(TokenKeys.Parsed(bucket: Array(key.utf8)) == nil)
    }
}
