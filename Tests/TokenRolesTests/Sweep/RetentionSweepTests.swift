import APNsProtocol
import BelfrySupport
import Foundation
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

/// The sweep on a real server.
@Suite struct RetentionSweepTests {
    private static let now: Int64 = 1_000_000
    private static let live = [UInt8](repeating: 1, count: 32)

    private static func tokens(_ count: Int) -> [[UInt8]] {
        var random = SeededGenerator(seed: 11)
        return (0..<count).map { _ in random.bytes(32) }
    }

    private static func settings(tombstones: Int = 1000, idle: Int = 0) -> RetentionSettings {
        var settings = RetentionSettings()
        settings.tombstones = .seconds(tombstones)
        settings.idle = .seconds(idle)
        settings.rate = 10_000_000
        return settings
    }

    /// A sweep beside a producer that acknowledges nothing before it is told to.
    private final class Probe: Sendable {
        private struct State {
            var sweep: RetentionSweep
            var producer: CollectingProducer
            var tombstones: TombstonePublisher
            var redis: RedisCluster
            var clock: ClockCheck?
        }

        let eventLoop: any EventLoop
        private let state: NIOLoopBound<State>

        init(
            on eventLoop: any EventLoop,
            port: Int,
            settings: RetentionSettings,
            owner: String = "one",
            hostAheadSeconds: Int64? = nil,
            acknowledges: Bool = true,
            beforeStart: () throws -> Void = {}
        ) async throws {
            self.eventLoop = eventLoop
            state = try await eventLoop.submit {
                let seeds = [RedisEndpoint(host: "127.0.0.1", port: port)]
                let redis = RedisCluster(configuration: .init(seeds: seeds), eventLoop: eventLoop)
                redis.start()
                let producer = CollectingProducer()
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let tombstones = TombstonePublisher(producer: producer, topic: "push.tombstones", logger: logger) {
                    MonotonicTime(.now())
                }
                if acknowledges {
                    let bound = NIOLoopBound(tombstones, eventLoop: eventLoop)
                    producer.onProduce = { record in
                        eventLoop.execute { bound.value.delivered(record.number, error: nil) }
                    }
                }
                let clock = hostAheadSeconds.map { seconds in
                    ClockCheck(redis: redis, eventLoop: eventLoop, logger: logger) {
                        Int64(Date().timeIntervalSince1970 + Double(seconds)) * 1000
                    }
                }
                clock?.start()
                let sweep = RetentionSweep(
                    eventLoop: eventLoop,
                    redis: redis,
                    places: TokenStore.layout,
                    tombstones: tombstones,
                    settings: settings,
                    limits: .init(lease: .seconds(3), pause: .hours(1), retry: .milliseconds(20), attempts: 2),
                    clock: clock,
                    owner: owner,
                    logger: logger,
                    now: { RetentionSweepTests.now }
                )
                return NIOLoopBound(
                    State(sweep: sweep, producer: producer, tombstones: tombstones, redis: redis, clock: clock),
                    eventLoop: eventLoop
                )
            }.get()
            // The masters are known from here on.
            try await wait { try await !$0.masters.isEmpty }
            try beforeStart()
            try await eventLoop.submit { [state] in state.value.sweep.start() }.get()
        }

        var masters: [RedisAddress] {
            get async throws { try await eventLoop.submit { [state] in state.value.redis.masterAddresses }.get() }
        }

        var counters: RetentionSweep.Counters {
            get async throws { try await eventLoop.submit { [state] in state.value.sweep.counters }.get() }
        }

        var hasLease: Bool {
            get async throws { try await eventLoop.submit { [state] in state.value.sweep.hasLease }.get() }
        }

        var isOutOfLine: Bool {
            get async throws { try await eventLoop.submit { [state] in state.value.clock?.obstacle != nil }.get() }
        }

        var records: [CollectingProducer.Record] {
            get async throws { try await eventLoop.submit { [state] in state.value.producer.records }.get() }
        }

        func acknowledgeAll() async throws {
            try await eventLoop.submit { [state] in
                for record in state.value.producer.records {
                    state.value.tombstones.delivered(record.number, error: nil)
                }
            }.get()
        }

        /// Returns when the condition holds; each look takes a round trip to Redis.
        func wait(_ condition: (Probe) async throws -> Bool) async throws {
            while try await !condition(self) {
                try await eventLoop.flatSubmit { [state, eventLoop] in
                    let promise = eventLoop.makePromise(of: Void.self)
                    state.value.redis.send(slot: RedisSlot(number: 0)) {
                        $0.command("PING", argumentCount: 0)
                    } _: { _ in
                        promise.succeed()
                    }
                    return promise.futureResult
                }.get()
            }
        }

        func stop() async throws {
            try await eventLoop.flatSubmit { [state, eventLoop] in
                let promise = eventLoop.makePromise(of: Void.self)
                state.value.sweep.stop { promise.succeed() }
                return promise.futureResult
            }.get()
            try await eventLoop.submit { [state] in
                state.value.clock?.close()
                state.value.redis.close()
            }.get()
        }
    }

    @Test("Old tombstones go, with word to the filters; young ones, living tokens and other keys stay")
    func tombstones() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = Self.tokens(600)
        let at = UInt32(Self.now)
        // A third is old and dead, a third dead of late, a third lives.
        let changes = tokens.enumerated().map { index, token in
            switch index % 3 {
            case 0: TokenChange.of(token, .tombstone(at: at - 1001, .feedback))
            case 1: TokenChange.of(token, .tombstone(at: at - 1000, .feedback))
            default: TokenChange.of(token, .register(at: 1, TokenTexts()))
            }
        }
        for answer in try await store.make(changes) { _ = try answer.get() }
        _ = try await store.command(Array("SET".utf8), Array("t3:of-others".utf8), [1])
        let probe = try await Probe(on: store.eventLoop, port: server.port, settings: Self.settings())
        try await probe.wait { try await $0.counters.completed == 1 }
        let counters = try await probe.counters
        #expect(counters.lookedAt == 600)
        #expect(counters.swept == [.tombstone: 200])
        #expect(counters.lastCompleted == Self.now)
        let found = try await store.records(tokens)
        for (index, record) in found.enumerated() { #expect((record == nil) == (index % 3 == 0)) }
        let records = try await probe.records
        let keys = stride(from: 0, to: 600, by: 3).map {
            TombstonePublisher.key(bundleID: TokenStore.bundleID, token: tokens[$0])
        }
        #expect(Set(records.compactMap(\.key)) == Set(keys))
        #expect(records.count == 200 && records.allSatisfy { $0.content == nil && $0.topic == "push.tombstones" })
        try await probe.stop()
        try await store.close()
    }

    @Test("Nothing is old by a clock that is out of line with that of Redis", arguments: [0, 90_000] as [Int64])
    func skewedClock(aheadSeconds: Int64) async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let death = TokenChange.of(Self.live, .tombstone(at: UInt32(Self.now) - 1001, .feedback))
        for answer in try await store.make([death]) { _ = try answer.get() }
        let probe = try await Probe(
            on: store.eventLoop,
            port: server.port,
            settings: Self.settings(),
            hostAheadSeconds: aheadSeconds
        )
        if aheadSeconds == 0 {
            try await probe.wait { try await $0.counters.completed == 1 }
        } else {
            try await probe.wait { probe in
                let isOutOfLine = try await probe.isOutOfLine
                return try await probe.hasLease && isOutOfLine
            }
            var looks = 0
            try await probe.wait { _ in
                looks += 1
                return looks > 50
            }
        }
        #expect(try await probe.counters.lookedAt == (aheadSeconds == 0 ? 1 : 0))
        try await probe.stop()
        try await store.close()
    }

    @Test("Idle tokens go where that is set, and nothing is published of them")
    func idle() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let tokens = Self.tokens(3)
        let at = UInt32(Self.now)
        for answer in try await store.make([
            .of(tokens[0], .register(at: at - 501, TokenTexts())),
            .of(tokens[1], .register(at: at - 500, TokenTexts())),
            .of(tokens[2], .register(at: 1, TokenTexts())),
            .of(tokens[2], .describe(at: at - 1, TokenTexts(locale: "de"))),
        ]) { _ = try answer.get() }
        let probe = try await Probe(on: store.eventLoop, port: server.port, settings: Self.settings(idle: 500))
        try await probe.wait { try await $0.counters.completed == 1 }
        #expect(try await probe.counters.swept == [.idle: 1])
        #expect(try await store.records(tokens).map { $0 == nil } == [true, false, false])
        #expect(try await probe.records.isEmpty)
        try await probe.stop()
        try await store.close()
    }

    @Test("A refused token goes as dead if it never registered, else as idle; both are published")
    func refused() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let (tokens, at) = (Self.tokens(3), UInt32(Self.now))
        for answer in try await store.make([
            .of(tokens[0], .refuse(at: at - 1001, .app)), .of(tokens[1], .register(at: at - 1500, TokenTexts())),
            .of(tokens[1], .refuse(at: at - 9, .app)), .of(tokens[2], .register(at: at - 10, TokenTexts())),
            .of(tokens[2], .refuse(at: at - 9, .app)),
        ]) { _ = try answer.get() }
        let probe = try await Probe(on: store.eventLoop, port: server.port, settings: Self.settings(idle: 500))
        try await probe.wait { try await $0.counters.completed == 1 }
        #expect(try await probe.counters.swept == [.tombstone: 1, .idle: 1])
        #expect(try await probe.records.count == 2)
        try await probe.stop()
        try await store.close()
    }

    @Test("That a token is gone is published after it was removed, and the sweep does not run ahead of the broker")
    func order() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let token = Self.tokens(1)[0]
        for answer in try await store.make([.of(token, .tombstone(at: 1, .invalid))]) { _ = try answer.get() }
        let probe = try await Probe(
            on: store.eventLoop,
            port: server.port,
            settings: Self.settings(),
            acknowledges: false
        )
        try await probe.wait { try await $0.records.count == 1 }
        #expect(try await store.records([token]) == [nil])
        #expect(try await probe.counters.completed == 0)
        try await probe.acknowledgeAll()
        try await probe.wait { try await $0.counters.completed == 1 }
        try await probe.stop()
        try await store.close()
    }

    @Test("One at a time sweeps; when it stops, the next takes over")
    func lease() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        let first = try await Probe(on: store.eventLoop, port: server.port, settings: Self.settings())
        try await first.wait { try await $0.counters.completed == 1 }
        let second = try await Probe(on: store.eventLoop, port: server.port, settings: Self.settings(), owner: "other")
        let holder = try await store.command(Array("GET".utf8), Array(RetentionSweep.leaseKey.utf8))
        #expect(holder == "one")
        #expect(try await !second.hasLease)
        #expect(try await second.counters == .init())
        try await first.stop()
        let next = try await store.command(Array("GET".utf8), Array(RetentionSweep.leaseKey.utf8))
        #expect(next != "one", "given back, not left to run out")
        try await second.wait { try await $0.counters.completed == 1 }
        #expect(try await second.hasLease)
        try await second.stop()
        try await store.close()
    }

    @Test("Every master of a cluster is swept")
    func cluster() async throws {
        let cluster = try RedisClusterProcess()
        let port = cluster.servers[0].port
        let tokens = Self.tokens(300)
        let store = try await TokenStore(cluster: cluster)
        let changes = tokens.enumerated().map { index, token in
            TokenChange.of(token, .tombstone(at: index % 3 == 0 ? UInt32(Self.now) : 1, .feedback))
        }
        for answer in try await store.make(changes) { _ = try answer.get() }
        let probe = try await Probe(on: store.eventLoop, port: port, settings: Self.settings())
        try await probe.wait { try await $0.counters.completed == 1 }
        #expect(try await probe.counters.lookedAt == 300)
        #expect(try await probe.counters.swept == [.tombstone: 200])
        try await probe.stop()
        let inspector = try TokenInspector(redisURL: "redis://127.0.0.1:\(port)")
        #expect(try inspector.count() == .init(registered: 0, tombstoned: 100))
        var found: Set<[UInt8]> = []
        _ = try inspector.walk(environment: TokenStore.environment, bundleID: TokenStore.bundleID) { page, _ in
            found.formUnion(page.map(\.token))
            return true
        }
        #expect(found == Set(stride(from: 0, to: 300, by: 3).map { tokens[$0] }))
        inspector.close()
        try await store.close()
        withExtendedLifetime(cluster) {}
    }

    @Test("A master that is dead keeps nothing old on the others, and such a sweep is none over all servers")
    func deadMaster() async throws {
        let cluster = try RedisClusterProcess(arguments: ["--cluster-require-full-coverage", "no"])
        let store = try await TokenStore(cluster: cluster)
        let changes = Self.tokens(300).map { TokenChange.of($0, .tombstone(at: 1, .feedback)) }
        for answer in try await store.make(changes) { _ = try answer.get() }
        try await store.close()
        // Not the one with the lease, without which no registrar sweeps; and no replica takes its place.
        let holder = try cluster.master(ofSlot: Int(RedisSlot(key: RetentionSweep.leaseKey).number))
        let dead = try #require(cluster.masters.first { $0.port != holder.port })
        let living = cluster.masters.filter { $0.port != dead.port }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let probe = try await Probe(on: eventLoop, port: holder.port, settings: Self.settings()) {
            try cluster.cutReplicas()
            dead.kill()
        }
        try await probe.wait { try await $0.counters.leftOut == 1 }
        try await probe.wait { _ in
            try living.allSatisfy { try $0.command("KEYS", "t3:*").allSatisfy(\.isWhitespace) }
        }
        let counters = try await probe.counters
        #expect(counters.completed == 0 && counters.lastCompleted == nil)
        #expect((1..<300).contains(counters.swept[.tombstone] ?? 0))
        try await probe.stop()
    }

    @Test("A master that a replica replaces before its turn makes a sweep none over all servers")
    func replacedMaster() async throws {
        let cluster = try RedisClusterProcess(arguments: ["--cluster-require-full-coverage", "no"])
        let store = try await TokenStore(cluster: cluster)
        let changes = Self.tokens(300).map { TokenChange.of($0, .tombstone(at: 1, .feedback)) }
        for answer in try await store.make(changes) { _ = try answer.get() }
        try await store.close()
        let holder = try cluster.master(ofSlot: Int(RedisSlot(key: RetentionSweep.leaseKey).number))
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let probe = try await Probe(
            on: eventLoop,
            port: holder.port,
            settings: Self.settings(),
            acknowledges: false
        )
        // The sweep waits for the broker at the first master while a replica takes the place of a later one.
        try await probe.wait { try await !$0.records.isEmpty }
        let masters = try await probe.masters
        let lost = try #require(masters.dropFirst().first { $0.port != holder.port })
        try #require(cluster.masters.first { $0.port == lost.port }).kill()
        try await probe.wait { try await !$0.masters.contains(lost) }
        try await probe.wait { probe in
            try await probe.acknowledgeAll()
            let counters = try await probe.counters
            return counters.leftOut > 0 || counters.completed > 0
        }
        let counters = try await probe.counters
        #expect(counters.leftOut == 1)
        #expect(counters.completed == 0 && counters.lastCompleted == nil)
        try await probe.stop()
    }
}
