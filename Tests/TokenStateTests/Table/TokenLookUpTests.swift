import PushSchemas
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenState

/// Round trips and commands of look-ups, and splits at any moment between them.
@Suite struct TokenLookUpTests {
    private static let keys = TokenKeys(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
    private static let tag = 7

    /// Tokens of one hash tag, which the second bucket has as soon as there is one.
    private static func tokens(_ count: Int, tag: Int = TokenLookUpTests.tag, seed: UInt64 = 1) -> [[UInt8]] {
        var random = SeededGenerator(seed: seed)
        var tokens: [[UInt8]] = []
        while tokens.count < count {
            let token = random.bytes(32)
            let place = TokenStore.layout.place(of: token)
            if place.tag == tag, TokenBuckets.index(hash: place.hash, count: 2) == 1 { tokens.append(token) }
        }
        return tokens
    }

    /// A table, and the look-ups that it has finished.
    private final class Bench {
        let redis = SimulatedRedis()
        /// In the order of the look-ups' ends.
        private var answers: [(number: Int, isFound: Bool?)] = []
        private let table: TokenTable
        private var memory: [UnsafeMutableRawBufferPointer] = []

        init() {
            table = TokenTable(redis, TokenStore.layout)
        }

        deinit {
            for token in memory { token.deallocate() }
        }

        /// For each look-up, in the order of their ends: the token was found; nil: the look-up failed.
        var results: [Bool?] { answers.map(\.isFound) }
        /// The numbers of the look-ups, in the order of their ends.
        var numbers: [Int] { answers.map(\.number) }

        /// Looks tokens up, as one batch.
        ///
        /// - Parameter bundleIDs: of each token in turn.
        func look(up tokens: [[UInt8]], bundleIDs: [String] = [TokenStore.bundleID]) {
            let lookUps = table.lookUps(capacity: tokens.count) { [unowned self] answer, number in
                switch answer {
                case .success(let value): answers.append((number, value != nil))
                case .failure: answers.append((number, nil))
                }
            }
            table.together {
                for (number, token) in tokens.enumerated() {
                    let bundleID = bundleIDs[number % bundleIDs.count]
                    let space = table.space(environment: TokenStore.environment, bundleID: bundleID)
                    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: token.count, alignment: 1)
                    bytes.copyBytes(from: token)
                    memory.append(bytes)
                    let view = UnsafeRawBufferPointer(bytes)
                    lookUps.add(view, in: space, number: number)
                }
            }
        }

        /// Tokens are in a bucket, and in no other.
        func put(_ tokens: [[UInt8]], intoBucket bucket: Int, tag: Int = TokenLookUpTests.tag) {
            for other in 0...1 {
                let key = TokenLookUpTests.keys.bucket(other, tag: tag)
                for token in tokens {
                    redis.server.hashes[key, default: [:]][TokenStore.layout.field(of: token)] =
                        other == bucket ? TokenRecord().bytes : nil
                }
            }
        }

        /// The tag has two buckets, and the tokens are in the second one.
        func split(_ tokens: [[UInt8]]) {
            put(tokens, intoBucket: 1)
            redis.server[TokenLookUpTests.keys.directory(tag: TokenLookUpTests.tag)] = "2"
        }
    }

    @Test("Unknown tokens take one round trip, and beside a command each one for every hash tag of their batch")
    func unknown() {
        let bench = Bench()
        for batch in 1...3 {
            bench.look(up: Self.tokens(20) + Self.tokens(20, tag: 8))
            #expect(bench.redis.openNames == Array(repeating: "HGET", count: 40) + ["GET", "GET"])
            bench.redis.answerAll()
            #expect(bench.results == Array(repeating: false, count: 40 * batch))
        }
    }

    @Test("Known tokens take one command each; the number of buckets is asked for with the first of their tag")
    func known() {
        let bench = Bench()
        let tokens = Self.tokens(10)
        bench.put(tokens, intoBucket: 0)
        for _ in 1...5 {
            bench.look(up: tokens)
            bench.redis.answerAll()
        }
        #expect(bench.results == Array(repeating: true, count: 50))
        #expect(bench.redis.count("HGET") == 50 && bench.redis.count("GET") == 1)
    }

    @Test("Unknown tokens among known ones share a question, and the next have theirs along")
    func unexpected() {
        let bench = Bench()
        let tokens = Self.tokens(5)
        bench.put([tokens[0]], intoBucket: 0)
        bench.look(up: [tokens[0]])
        bench.redis.answerAll()
        bench.look(up: Array(tokens[1...3]))
        #expect(bench.redis.openNames == ["HGET", "HGET", "HGET"])
        bench.redis.answerAll()
        #expect(bench.redis.openNames == ["GET"])
        bench.redis.answerAll()
        #expect(bench.results == [true, false, false, false])
        bench.look(up: [tokens[4]])
        bench.redis.answerAll()
        #expect(bench.results.last == false && bench.redis.openNames.isEmpty)
    }

    @Test("A client that knows of one bucket only finds tokens of the second one, with a second round trip")
    func stale() {
        let bench = Bench()
        let tokens = Self.tokens(30)
        bench.split(tokens)
        bench.look(up: tokens)
        bench.redis.answerAll()
        #expect(bench.results.isEmpty)
        bench.redis.answerAll()
        #expect(bench.results == Array(repeating: true, count: 30))
        bench.look(up: tokens)
        bench.redis.answerAll()
        #expect(bench.results.count == 60 && bench.redis.count("HGET") == 90)
    }

    @Test("A bucket that is split after it was read is found out by the question behind the look-up")
    func splitBetween() {
        let bench = Bench()
        let token = Self.tokens(1)
        bench.look(up: token)
        bench.redis.run(0)
        bench.split(token)
        bench.redis.run(1)
        bench.redis.handOver(0)
        bench.redis.handOver(0)
        #expect(bench.results.isEmpty)
        bench.redis.answerAll()
        #expect(bench.results == [true], "it registered meanwhile")
    }

    @Test(
        "A question that has overtaken its look-up, which a cluster sent on, proves nothing",
        arguments: [true, false]
    )
    func overtaken(answersComeInOrder: Bool) {
        let bench = Bench()
        let token = Self.tokens(1)
        bench.put(token, intoBucket: 0)
        bench.look(up: token)
        bench.redis.detours += 1
        // The question, on the old master.
        bench.redis.run(1)
        bench.split(token)
        // The look-up, on the new one.
        bench.redis.run(0)
        bench.redis.handOver(answersComeInOrder ? 0 : 1)
        bench.redis.handOver(0)
        #expect(bench.results.isEmpty && bench.redis.openNames == ["GET"])
        for _ in 1...2 { bench.redis.answerAll() }
        #expect(bench.results == [true])
    }

    @Test("A question of an earlier batch proves nothing to a later one")
    func earlier() {
        let bench = Bench()
        let tokens = Self.tokens(2)
        bench.look(up: [tokens[0]])
        bench.look(up: [tokens[1]])
        #expect(bench.redis.openNames == ["HGET", "GET", "HGET", "GET"])
        for index in 0...2 { bench.redis.run(index) }
        bench.split([tokens[1]])
        bench.redis.run(3)
        for _ in 0...3 { bench.redis.handOver(0) }
        #expect(bench.results == [false])
        bench.redis.answerAll()
        #expect(bench.results == [false, true])
    }

    @Test("Each look-up of a batch has its own answer, also where bundles take turns and buckets were split")
    func mixed() {
        let bench = Bench()
        let tokens = Self.tokens(8)
        // Of the first bundle alone, of which every second token is.
        bench.split([tokens[0], tokens[4]])
        bench.look(up: tokens, bundleIDs: [TokenStore.bundleID, "com.example.other"])
        for _ in 0..<2 { bench.redis.answerAll() }
        let found = zip(bench.numbers, bench.results).filter { $0.1 == true }.map(\.0)
        #expect(found == [0, 4] && bench.numbers.sorted() == Array(0..<8))
        #expect(bench.results.count { $0 == false } == 6)
    }

    @Test("Look-ups whose question is lost fail, each once; the next ones ask anew")
    func lost() {
        let bench = Bench()
        let tokens = Self.tokens(3)
        bench.look(up: tokens)
        for index in 0...1 { bench.redis.run(index) }
        for _ in 0...1 { bench.redis.handOver(0) }
        #expect(bench.results.isEmpty)
        bench.redis.lose()
        #expect(bench.results == [nil, nil, nil])
        bench.look(up: tokens)
        bench.redis.answerAll()
        #expect(bench.results.suffix(3) == [false, false, false])
    }
}
