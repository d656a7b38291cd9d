import NIOCore
import RedisClient
import Synchronization
import TestSupport
import Testing

@Suite("A real cluster", .serialized)
struct RedisClusterTests {
    /// Sets KEYS[1] to ARGV[1], returns it.
    private static let store = RedisScript("redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])")
    /// Reads two keys.
    private static let pair = RedisScript("return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])}")

    @Test("Every key goes to the master of its slot, by one seed's word; scripts run on every master")
    func allSlots() async throws {
        let servers = try RedisClusterProcess()
        // The last one is a replica, which tells the map as well.
        let client = try await TestClusterClient(ports: [servers.servers[5].port])
        let keys = (0..<1000).map { "key-\($0)" }
        #expect(try await client.all(keys.map { ["SET", $0, "1"] }).allSatisfy { $0 == .success(.status("OK")) })
        #expect(try await client.all(keys.map { ["INCR", $0] }).allSatisfy { $0 == .success(.integer(2)) })
        let counts = try await client.keyCounts()
        #expect(counts.count == 3)
        let sizes = counts.values.map { if case .integer(let count) = $0 { count } else { Int64(-1) } }
        // A map that is wrong somewhere would be mended by redirections; that it was right shows in what each master
        // holds.
        #expect(sizes.reduce(0, +) == 1000 && sizes.allSatisfy { $0 > 250 })
        for key in keys.prefix(50) {
            #expect(try await client.evaluate(Self.store, keys: [key], arguments: ["x"]).get() == .success(.text("x")))
        }
        try await client.close()
    }

    @Test("A slot that moves while commands run: each runs exactly once, wherever its key is at that moment")
    func movingSlot() async throws {
        let servers = try RedisClusterProcess()
        let client = try await TestClusterClient(ports: servers.servers.map(\.port))
        let keys = (0..<20).map { "{moving}\($0)" }
        let slot = Int(RedisSlot(key: keys[0]).number)
        let source = try servers.master(ofSlot: slot)
        let target = try #require(servers.servers.prefix(3).first { $0.port != source.port })
        func increment(_ rounds: Int) async throws {
            for _ in 0..<rounds {
                for outcome in try await client.all(keys.map { ["INCR", $0] }) {
                    guard case .success(.integer) = outcome else {
                        Issue.record("\(outcome)")
                        return
                    }
                }
            }
        }
        try await increment(1)

        _ = try target.command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", source.nodeID())
        _ = try source.command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", target.nodeID())
        try await increment(1)
        // Half of the keys are there, half are here: one at a time they are found by ASK.
        for key in keys.prefix(10) {
            _ = try source.command("MIGRATE", "127.0.0.1", "\(target.port)", key, "0", "5000")
        }
        try await increment(2)
        // New ones are made where the slot goes to; a script that is not known there is loaded on the way.
        let new = try await client.evaluate(Self.store, keys: ["{moving}new"], arguments: ["n"]).get()
        #expect(new == .success(.text("n")))
        #expect(try target.command("CLUSTER", "COUNTKEYSINSLOT", "\(slot)").contains("11"))
        // One key here, one there: no server can run it, until the last key has moved.
        let both = client.evaluate(Self.pair, keys: [keys[0], keys[19]])
        for key in keys.suffix(10) {
            _ = try source.command("MIGRATE", "127.0.0.1", "\(target.port)", key, "0", "5000")
        }
        #expect(try await both.get() == .success(.array([.text("4"), .text("4")])))
        try await increment(1)
        for server in [target, source] {
            _ = try server.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", target.nodeID())
        }
        try await increment(1)
        for outcome in try await client.all(keys.map { ["GET", $0] }) { #expect(outcome == .success(.text("6"))) }
        try await client.close()
    }

    @Test("A master killed in mid-run: its replica takes over, and what is repeated gets through, scripts too")
    func failover() async throws {
        let servers = try RedisClusterProcess()
        let client = try await TestClusterClient(ports: servers.servers.map(\.port))
        let keys = (0..<60).map { "key-\($0)" }
        @Sendable func set(_ key: String, _ value: Int) async throws {
            while true {
                let outcome =
                    value.isMultiple(of: 2)
                    ? try await client.command("SET", key, "\(value)")
                    : try await client.evaluate(Self.store, keys: [key], arguments: ["\(value)"]).get()
                switch outcome {
                case .success: return
                // Setting it once more does no harm.
                case .failure(let error) where error.mayHaveExecuted: continue
                case .failure(let error):
                    Issue.record("\(error)")
                    return
                }
            }
        }
        // Loaded on the masters; the replicas do not learn of scripts.
        for key in keys { try await set(key, 1) }
        let victim = try servers.master(ofSlot: Int(RedisSlot(key: keys[0]).number))
        let victimPort = victim.port
        let firstDone = client.eventLoop.makePromise(of: Void.self)
        async let run: Void = withThrowingTaskGroup(of: Void.self) { group in
            for key in keys {
                group.addTask {
                    for value in 0..<50 {
                        try await set(key, value)
                        if value == 3, key == keys[0] { firstDone.succeed() }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await firstDone.futureResult.get()
        victim.kill()
        try await run
        for outcome in try await client.all(keys.map { ["GET", $0] }) { #expect(outcome == .success(.text("49"))) }
        let masters = try await client.run { $0.masterAddresses }
        #expect(masters.count == 3 && !masters.contains { $0.port == victimPort })
        try await client.close()
    }

    @Test("Commands for the other masters complete while one hangs; what it was sent completes when it is back")
    func hangingNode() async throws {
        let servers = try RedisClusterProcess(nodeTimeoutMilliseconds: 60_000)
        let client = try await TestClusterClient(ports: servers.servers.map(\.port))
        await client.connected()
        let keys = (0..<300).map { "key-\($0)" }
        let hanging = try servers.master(ofSlot: Int(RedisSlot(key: "key-0").number))
        let slots =
            try (hanging.command("CLUSTER", "NODES").split(separator: "\n"))
            .first { $0.contains("myself") }?.split(separator: " ").last ?? ""
        let ends = slots.split(separator: "-").compactMap { UInt16($0) }
        let isAffected: (String) -> Bool = { (ends[0]...ends[1]).contains(RedisSlot(key: $0).number) }
        hanging.pause()
        defer { hanging.resume() }
        let stuck = client.start(keys.filter(isAffected).map { ["SET", $0, "1"] })
        let counter = Counter()
        for future in stuck { future.whenComplete { _ in counter.increment() } }
        for _ in 0..<20 {
            let outcomes = try await client.all(keys.filter { !isAffected($0) }.map { ["INCR", $0] })
            #expect(outcomes.allSatisfy { if case .success(.integer) = $0 { true } else { false } })
        }
        #expect(!stuck.isEmpty && counter.value == 0)
        hanging.resume()
        for future in stuck { #expect(try await future.get() == .success(.status("OK"))) }
        try await client.close()
    }
}

/// Counts what happens on another thread.
private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func increment() {
        count.add(1, ordering: .acquiringAndReleasing)
    }
}
