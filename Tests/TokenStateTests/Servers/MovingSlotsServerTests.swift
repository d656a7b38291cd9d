import BelfrySupport
import NIOCore
import RedisClient
import Synchronization
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// Buckets of tokens whose slots move to another master of a real cluster.
@Suite(.serialized) struct MovingSlotsServerTests {
    private static let keys = TokenKeys(environment: TokenStore.environment, bundleID: TokenStore.bundleID)

    /// Tokens of one hash tag.
    private static func tokens(_ count: Int, tag: Int, seed: UInt64) -> [[UInt8]] {
        var generator = SeededGenerator(seed: seed)
        var tokens: [[UInt8]] = []
        while tokens.count < count {
            let token = generator.bytes(32)
            if TokenStore.layout.place(of: token).tag == tag { tokens.append(token) }
        }
        return tokens
    }

    private static func migration(ofTag tag: Int, in cluster: RedisClusterProcess) throws -> SlotMigration {
        try SlotMigration(of: Int(keys.slot(tag: tag).number), in: cluster)
    }

    private static func register(_ tokens: [[UInt8]], at seconds: UInt32, in store: TokenStore) async throws {
        for answer in try await store.make(tokens.map { .of($0, .register(at: seconds, TokenTexts())) }) {
            _ = try answer.get()
        }
    }

    private static func registrations(_ records: [TokenRecord?]) -> [UInt32] { records.map { $0?.registeredAt ?? 0 } }

    /// The command was given up at its deadline: without a reply, unsent, or with the refusal that made it wait.
    private static func isLate(_ error: RedisError) -> Bool {
        switch error {
        case .timeout: true
        case .notSent(let reason): reason.hasPrefix("waited too long")
        case .server(let prefix, _): ["ASK", "CLUSTERDOWN", "MOVED", "TRYAGAIN"].contains(prefix)
        case .maybeExecuted, .closed: false
        }
    }

    @Test("Slots move under load: all is answered within the default command time-out, nothing is lost or doubled")
    func underLoad() async throws {
        let cluster = try RedisClusterProcess()
        // The deadline that roles have unless they are configured otherwise: what is slower fails here.
        let deadline = TimeAmount(RedisSettings().commandTimeout)
        let store = try await TokenStore(cluster: cluster, commandTimeout: deadline)
        // Many of one tag, whose buckets are split meanwhile; few of the others, which have one each.
        let tokens = (0..<8).flatMap { Self.tokens($0 == 0 ? 250 : 3, tag: $0, seed: UInt64($0)) }
        try await Self.register(tokens, at: 1, in: store)
        let isOver = Atomic(false)
        let load = Task {
            var known = tokens
            var now: UInt32 = 1
            var errors: [RedisError] = []
            repeat {
                now += 1
                if known.count < 1000 { known += Self.tokens(10, tag: 0, seed: 1000 + UInt64(now)) }
                do {
                    try await Self.register(known, at: now, in: store)
                    let found = Self.registrations(try await store.lookUps(known))
                    #expect(found == Array(repeating: now, count: known.count))
                } catch let error as RedisError {
                    errors.append(error)
                }
            } while !isOver.load(ordering: .acquiring)
            return (known, errors)
        }
        defer { isOver.store(true, ordering: .releasing) }
        for tag in 0..<8 {
            let migration = try Self.migration(ofTag: tag, in: cluster)
            try migration.begin()
            while try migration.moveKeys(limit: 2) > 0 {}
            try migration.end()
        }
        isOver.store(true, ordering: .releasing)
        let (known, errors) = try await load.value
        #expect(errors.count(where: Self.isLate) == 0, "\(errors)")
        #expect(errors.isEmpty, "\(errors)")
        // By a client that begins with the first bucket of each tag, and knows nothing of the old masters.
        let inspector = try TokenInspector(redisURL: cluster.urls())
        var found: [[UInt8]] = []
        _ = try inspector.walk(environment: TokenStore.environment, bundleID: TokenStore.bundleID) { page, _ in
            found += page.map(\.token)
            return true
        }
        inspector.close()
        #expect(found.count == known.count && Set(found) == Set(known))
        try await store.close()
    }

    @Test("While a slot is open tokens are looked up and changed, whether all its keys are still here or all there")
    func openSlot() async throws {
        let cluster = try RedisClusterProcess()
        let store = try await TokenStore(cluster: cluster)
        let tokens = Self.tokens(3, tag: 7, seed: 1)
        let known = Array(tokens.prefix(2))
        // In one bucket, as most are: that there is one only stands in the directory.
        try await Self.register(known, at: 1, in: store)
        let migration = try Self.migration(ofTag: 7, in: cluster)
        try migration.begin()
        for now in [2, 3] as [UInt32] {
            try await Self.register(known, at: now, in: store)
            #expect(Self.registrations(try await store.lookUps(tokens)) == [now, now, 0])
            while try migration.moveKeys(limit: 10) > 0 {}
        }
        try migration.end()
        #expect(Self.registrations(try await store.lookUps(tokens)) == [3, 3, 0])
        try await store.close()
    }

    @Test("While a slot is open badges are changed and taken back, those that are still here, have moved or are new")
    func badges() async throws {
        let cluster = try RedisClusterProcess()
        let store = try await TokenStore(cluster: cluster)
        let tokens = Self.tokens(4, tag: 11, seed: 3)
        for token in tokens.prefix(2) { _ = try await store.change(token, .set(10), mark: 1) }
        let migration = try Self.migration(ofTag: 11, in: cluster)
        try migration.begin()
        #expect(try migration.moveKeys(limit: 1) == 1)
        for token in tokens.prefix(3) { _ = try await store.change(token, .add(2), mark: 2) }
        while try migration.moveKeys(limit: 10) > 0 {}
        for token in tokens {
            _ = try await store.change(token, .add(2), mark: 2)
            _ = try await store.change(token, .add(5), mark: 3)
        }
        for token in tokens { try await store.takeBack(token, mark: 3) }
        try migration.end()
        var numbers: [UInt32?] = []
        for token in tokens { numbers.append(try await store.badge(token)) }
        #expect(numbers == [12, 12, 2, 2])
        try await store.close()
    }

    @Test("The last token of a tag can be forgotten while its slot is open, and the first one comes when it has moved")
    func lastAndFirst() async throws {
        let cluster = try RedisClusterProcess()
        let store = try await TokenStore(cluster: cluster)
        let token = Self.tokens(1, tag: 9, seed: 2)[0]
        _ = try await store.make([.of(token, .tombstone(at: 5, .invalid))])[0].get()
        let migration = try Self.migration(ofTag: 9, in: cluster)
        try migration.begin()
        _ = try await store.make([.of(token, .forgetInvalid(at: 5))])[0].get()
        #expect(try migration.moveKeys(limit: 10) == 0, "neither bucket nor directory is left")
        async let first: Void = Self.register([token], at: 6, in: store)
        try migration.end()
        try await first
        #expect(Self.registrations(try await store.lookUps([token])) == [6])
        try await store.close()
    }
}
