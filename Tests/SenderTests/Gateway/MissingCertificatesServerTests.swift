import BelfrySupport
import Logging
import NIOCore
import NIOEmbedded
import PipelineCore
import PushTopics
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers
@testable import TokenState

/// The shell around ``MissingCertificate``, without and with a server.
@Suite struct MissingCertificatesServerTests {
    private static let bundleID = TokenStore.bundleID
    private static let environment = TokenStore.environment
    private static let key = Array("m:{sandbox:com.example.news}:certificate".utf8)

    // MARK: Without a server

    private func missing(
        _ redis: (any RedisPipeline)?,
        _ lines: LogLines,
        on eventLoop: EmbeddedEventLoop
    ) -> MissingCertificates {
        MissingCertificates(
            tokens: redis.map { TokenTable($0, TokenStore.layout) },
            grace: .seconds(3600),
            eventLoop: eventLoop,
            unixMilliseconds: { 1_700_000_000_000 },
            logger: lines.logger
        )
    }

    private func pass(_ seconds: Int64, _ missing: MissingCertificates, on eventLoop: EmbeddedEventLoop) {
        eventLoop.advanceTime(by: .seconds(seconds))
        missing.tick(now: MonotonicTime(eventLoop.now))
    }

    @Test("Without token state, or with Redis away or refusing, a bundle waits for ever, and alarms every ten minutes")
    func notKnown() {
        for redis in 0..<3 {
            let eventLoop = EmbeddedEventLoop()
            let lines = LogLines()
            let simulated = SimulatedRedis(on: eventLoop)
            simulated.isAway = redis == 1
            if redis == 2 { simulated.fate = { _ in .failed(.notSent(reason: "no room")) } }
            let missing = missing(redis == 0 ? nil : simulated, lines, on: eventLoop)
            var waits = 0
            for _ in 0..<200 {
                if missing.verdict(bundleID: "a.b", environment: "sandbox") == .waits { waits += 1 }
                pass(60, missing, on: eventLoop)
            }
            #expect(waits == 200)
            #expect(lines.messages == Array(repeating: "certificate missing for a bundle with records", count: 21))
            simulated.close()
        }
    }

    @Test("A thousand bundles are tracked; records of further ones wait, which is told")
    func bounded() {
        let eventLoop = EmbeddedEventLoop()
        let lines = LogLines()
        let missing = missing(nil, lines, on: eventLoop)
        for number in 0..<1500 {
            #expect(missing.verdict(bundleID: "b\(number)", environment: "sandbox") == .waits)
        }
        #expect(missing.waiting.count == 1000)
        #expect(lines.messages.count == 1001)
        #expect(lines.messages.last == "too many bundles without a certificate")
        missing.found(bundleID: "b7", environment: "sandbox")
        #expect(missing.waiting.count == 999)
        _ = missing.verdict(bundleID: "b1400", environment: "sandbox")
        #expect(missing.waiting.map(\.bundleID).contains("b1400"))
    }

    @Test("Bundles are told by environment and name, and forgotten when no record of them comes any more")
    func waiting() {
        let eventLoop = EmbeddedEventLoop()
        let missing = missing(nil, LogLines(), on: eventLoop)
        for (bundle, environment) in [("b", "sandbox"), ("a", "sandbox"), ("c", "production"), ("a", "sandbox")] {
            _ = missing.verdict(bundleID: bundle, environment: environment)
        }
        #expect(missing.waiting.map(\.bundleID) == ["c", "a", "b"])
        #expect(missing.waiting.map(\.environment) == ["production", "sandbox", "sandbox"])
        pass(300, missing, on: eventLoop)
        _ = missing.verdict(bundleID: "b", environment: "sandbox")
        pass(300, missing, on: eventLoop)
        #expect(missing.waiting.map(\.bundleID) == ["b"])
    }

    // MARK: With a server

    /// A worker of the group, on the store's event loop.
    private struct Worker: Sendable {
        private let store: TokenStore
        private let missing: NIOLoopBound<MissingCertificates>

        /// - Parameter seconds: by which its wall clock is ahead.
        init(_ store: TokenStore, ahead seconds: Int64 = 0) async throws {
            self.store = store
            missing = try await store.table { [eventLoop = store.eventLoop] table, completion in
                let missing = MissingCertificates(
                    tokens: table,
                    grace: .seconds(3600),
                    eventLoop: eventLoop,
                    unixMilliseconds: { 1_700_000_000_000 + seconds * 1000 },
                    logger: LogLines().logger
                )
                completion(.success(NIOLoopBound(missing, eventLoop: eventLoop)))
            }
        }

        private func on<Value: Sendable>(
            _ body: @escaping @Sendable (MissingCertificates) -> Value
        ) async throws -> Value {
            try await store.eventLoop.submit { [missing] in body(missing.value) }.get()
        }

        /// The verdict when everything that can be asked at once has been answered.
        func verdict() async throws -> MissingCertificates.Verdict {
            for _ in 0..<3 {
                _ = try await on { missing in
                    _ = missing.verdict(bundleID: bundleID, environment: environment)
                    missing.tick(now: MonotonicTime(store.eventLoop.now))
                }
                // One connection answers in order: each answer follows those to what was asked before it.
                for _ in 0..<60 { _ = try await store.command(Array("PING".utf8)) }
            }
            return try await on { $0.verdict(bundleID: bundleID, environment: environment) }
        }

        /// Time goes by for what was not answered well.
        func pass(seconds: Int64) async throws {
            try await on { $0.tick(now: MonotonicTime(store.eventLoop.now + .seconds(seconds))) }
            _ = try await store.command(Array("PING".utf8))
        }

        func found() async throws {
            try await on { $0.found(bundleID: bundleID, environment: environment) }
            _ = try await store.command(Array("PING".utf8))
        }
    }

    @Test(
        "The group counts from its first miss: a worker that comes later goes on with the count, then gives up",
        arguments: TokenStore.both
    )
    func counted(on server: TokenStore.Server) async throws {
        try await withTokenStore(on: server) { store async throws in
            try await store.addRules()
            #expect(try await Worker(store).verdict() == .waits)
            #expect(try await store.value(Self.key) == Array("1700000000000".utf8))
            let day = 86_400_000
            #expect((day...day + 3_600_000).contains(try await store.timeToLive(of: Self.key)))
            #expect(try await Worker(store, ahead: 3599).verdict() == .waits)
            #expect(try await Worker(store, ahead: 3600).verdict() == .giveUp)
            #expect(try await store.value(Self.key) == Array("1700000000000".utf8))
        }
    }

    @Test("A worker whose clock is years ahead counts by that of Redis, and does not end the grace")
    func ahead() async throws {
        try await withTokenStore { store async throws in
            #expect(try await Worker(store, ahead: 2_000_000_000).verdict() == .waits)
            #expect(try await Worker(store, ahead: 2_000_004_000).verdict() == .waits)
        }
    }

    @Test("A certificate that is there again ends the count, also for a worker that never missed it")
    func ended() async throws {
        try await withTokenStore { store async throws in
            _ = try await Worker(store).verdict()
            try await Worker(store).found()
            #expect(try await store.value(Self.key) == nil)
            #expect(try await Worker(store, ahead: 4000).verdict() == .waits)
            #expect(try await store.value(Self.key) == Array("1700004000000".utf8))
        }
    }

    @Test("A count that Redis would not end is ended later, and begins anew if the certificate is missed before that")
    func endedLater() async throws {
        try await withTokenStore(on: .simulated) { store async throws in
            try await store.addRules()
            let error = RedisError.server(prefix: "ERR", message: "refused")
            try await store.onSimulated { $0.refusals["DEL"] = [error, error] }
            _ = try await Worker(store).verdict()
            let worker = try await Worker(store, ahead: 4000)
            try await worker.found()
            #expect(try await store.value(Self.key) == Array("1700000000000".utf8))
            #expect(try await worker.verdict() == .waits)
            #expect(try await store.value(Self.key) == Array("1700004000000".utf8))
            try await worker.found()
            try await worker.pass(seconds: 9)
            #expect(try await store.value(Self.key) != nil)
            try await worker.pass(seconds: 11)
            #expect(try await store.value(Self.key) == nil)
        }
    }

    @Test("One registered token anywhere in the bundle, dead or alive, makes its records wait", arguments: 0..<12)
    func registered(seed: UInt8) async throws {
        try await withTokenStore { store async throws in
            _ = try await Worker(store).verdict()
            let token = [seed &* 21] + [UInt8](repeating: seed, count: 31)
            var changes: [TokenChange] = [.of(token, .register(at: 5, TokenTexts()))]
            if seed % 2 == 1 { changes.append(.of(token, .tombstone(at: 9, .feedback))) }
            for change in changes { _ = try await store.make([change])[0].get() }
            #expect(try await Worker(store, ahead: 4000).verdict() == .waits)
        }
    }

    @Test("Tokens without a registration, and those of other bundles, do not make records wait")
    func unregistered() async throws {
        try await withTokenStore { store async throws in
            _ = try await Worker(store).verdict()
            var other = TokenChange.of([UInt8](repeating: 1, count: 32), .register(at: 5, TokenTexts()))
            other.bundleID = "com.example.news2"
            _ = try await store.make([other])[0].get()
            _ = try await store.make([.of([UInt8](repeating: 2, count: 32), .tombstone(at: 9, .feedback))])[0].get()
            #expect(try await Worker(store, ahead: 4000).verdict() == .giveUp)
        }
    }

    @Test("Buckets beyond the first ones of a tag are searched, too")
    func laterBuckets() async throws {
        try await withTokenStore { store async throws in
            _ = try await Worker(store).verdict()
            let keys = TokenKeys(environment: Self.environment, bundleID: Self.bundleID)
            let set = Array("SET".utf8)
            _ = try await store.command(set, keys.directory(tag: 255), Array("11".utf8))
            #expect(try await Worker(store, ahead: 4000).verdict() == .giveUp)
            let record: [UInt8] = [0, 5, 0, 0, 0]
            _ = try await store.bytes(Array("HSET".utf8), keys.bucket(10, tag: 255), [7], record)
            #expect(try await Worker(store, ahead: 4000).verdict() == .waits)
        }
    }

    @Test("A bundle with more buckets than are searched, or a record of another layout, is taken for one in use")
    func tooMany() async throws {
        try await withTokenStore { store async throws in
            _ = try await Worker(store).verdict()
            let keys = TokenKeys(environment: Self.environment, bundleID: Self.bundleID)
            _ = try await store.command(Array("SET".utf8), keys.directory(tag: 3), Array("5000".utf8))
            #expect(try await Worker(store, ahead: 4000).verdict() == .waits)
            _ = try await store.command(Array("DEL".utf8), keys.directory(tag: 3))
            #expect(try await Worker(store, ahead: 4000).verdict() == .giveUp)
            for record in [[64, 0, 0, 0, 0], [0, 0]] as [[UInt8]] {
                _ = try await store.bytes(Array("HSET".utf8), keys.bucket(0, tag: 3), [7], record)
                #expect(try await Worker(store, ahead: 4000).verdict() == .waits)
            }
        }
    }
}

extension TokenStore {
    /// Tells a simulated server the rule of the sender's script.
    fileprivate func addRules() async throws {
        try await onSimulated { $0.server.rules[MissingCertificates.miss.digest] = SimulatedRedisServer.missedSince }
    }
}
