import KafkaClient
import NIOCore
import PushTopics
import Synchronization
import TestSupport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import TokenRoles

/// Batches of records on their way into a real Redis, from the embedded broker.
@Suite struct RecordApplierTests {
    private static let inVain = "token state could not be changed; trying again"
    private static let topics = [
        (name: ApplierProbe.source, partitions: 1), (name: ApplierProbe.deadLetters, partitions: 1),
    ]

    @Test("While Redis is gone nothing is committed; when it is back every change is applied, then committed")
    func redisRestart() async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "b", "c"])
            let server = try RedisServerProcess()
            let killed = Atomic(false)
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port) { _ in
                // The batch is in hand, nothing of it is sent.
                if !killed.exchange(true, ordering: .relaxed) { server.kill() }
            }
            await probe.complaints(Self.inVain, count: 3)
            #expect(try await probe.committed == nil)
            #expect(try await probe.counters == .init())
            let next = try RedisServerProcess(port: server.port)
            await probe.commit()
            #expect(try await probe.committed == 3)
            #expect(try await missing(["a", "b", "c"], port: next.port).isEmpty)
            try await probe.beginStop().get()
            withExtendedLifetime(next) {}
        }
    }

    @Test(
        "A record that Redis refuses for good is a dead letter with the server's words, and the others are committed",
        arguments: [
            (true, "BELFRY a token record with flags 255"), (false, "WRONGTYPE"),
        ]
    )
    func refused(isLaterVersion: Bool, words: String) async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "stuck", "b"])
            let server = try RedisServerProcess()
            let store = try await TokenStore(port: server.port)
            if isLaterVersion {
                try await store.set(Array("stuck".utf8), [255] + [UInt8](repeating: 0, count: 20))
            } else {
                try await store.setWrongType(Array("stuck".utf8))
            }
            try await store.close()
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            await probe.commit()
            #expect(try await probe.committed == 3)
            #expect(
                try await probe.counters
                    == .init(applied: 2, deadLetters: 1, refused: [RecordApplier.refusalReason: 1])
            )
            try await probe.beginStop().get()
            let letters = try read(broker)
            #expect(letters.map(\.value) == [Array("stuck".utf8)])
            let headers = try #require(letters.first?.headers)
            #expect(headers["reason"] == "token-state-refused")
            #expect(headers["detail"]?.hasPrefix(words) == true)
            #expect(headers["source-offset"] == "1")
        }
    }

    @Test("A member without partitions takes over when the one that has them stops", .timeLimit(.minutes(3)))
    func standby() async throws {
        try await withBroker { broker in
            let server = try RedisServerProcess()
            let first = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            await first.assignment()
            let second = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            // One of them gets the partition, the other an assignment of nothing.
            await first.assignment()
            await second.assignment()
            while try await first.partitions.count + second.partitions.count < 1 { try await first.roundTrip() }
            let (busy, idle) = try await first.partitions.isEmpty ? (second, first) : (first, second)
            try fill(broker, ["a"])
            await busy.commit()
            try await busy.beginStop().get()
            try fill(broker, ["b"])
            try await idle.applied(1)
            #expect(try await missing(["a", "b"], port: server.port).isEmpty)
            #expect(try await idle.counters.applied == 1)
            try await idle.beginStop().get()
        }
    }

    @Test("Nothing is committed before the broker has acknowledged the dead letter of a bad record")
    func deadLetters() async throws {
        try await withBroker { broker in
            let other = try EmbeddedBroker(topics: Self.topics)
            defer { other.close() }
            other.setDown(true)
            try fill(broker, ["a", "bad one", "b"])
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(
                broker: broker.bootstrapServers,
                deadLetterBroker: other.bootstrapServers,
                redisPort: server.port
            )
            try await probe.applied(2)
            try await probe.turn()
            #expect(try await probe.committed == nil)
            #expect(try await probe.counters == .init(applied: 2, deadLetters: 0, refused: ["is-bad": 1]))
            other.setDown(false)
            await probe.commit()
            #expect(try await probe.committed == 3)
            #expect(try await probe.counters == .init(applied: 2, deadLetters: 1, refused: ["is-bad": 1]))
            try await probe.beginStop().get()
            let letters = try read(other)
            #expect(letters.map(\.value) == [Array("bad one".utf8)])
            #expect(letters.map(\.key) == [Array("key".utf8)])
            let headers = try #require(letters.first?.headers)
            #expect(headers["reason"] == "is-bad")
            #expect(headers["detail"] == "it says so")
            #expect(headers["source-topic"] == ApplierProbe.source)
            #expect(headers["source-partition"] == "0")
            #expect(headers["source-offset"] == "1")
            #expect(headers["content-type"] == "application/json")
            #expect(headers["token-indices"] == nil)
            #expect(headers["cut-from-bytes"] == nil)
        }
    }

    @Test("A dead letter that is too large for the broker is cut and says so, and the batch goes on")
    func tooLarge() async throws {
        try await withBroker { broker in
            let value = "bad" + String(repeating: "x", count: 400_000)
            try fill(broker, [value, "a"])
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(
                broker: broker.bootstrapServers,
                redisPort: server.port,
                properties: [.init(name: "message.max.bytes", value: "300000")]
            )
            await probe.commit()
            #expect(try await probe.committed == 2)
            try await probe.beginStop().get()
            let letters = try read(broker)
            #expect(letters.first?.value == Array(value.utf8.prefix(DeadLetter.cutBytes)))
            #expect(letters.first?.headers["cut-from-bytes"] == "\(value.utf8.count)")
        }
    }

    @Test("A record with more headers than are allowed is a dead letter without them, and the batch goes on")
    func headers() async throws {
        try await withBroker { broker in
            try broker.publishBatch(
                to: ApplierProbe.source,
                [(Array("key".utf8), Array("heavy".utf8))],
                headers: [("traceparent", Array(repeating: 0x61, count: 16 << 10))]
            )
            try fill(broker, ["a"])
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            // The two were published apart, and may come in two batches.
            try await probe.applied(1)
            try await probe.beginStop().get()
            #expect(try await probe.counters == .init(applied: 1, deadLetters: 1, refused: ["headers-too-large": 1]))
            let letters = try read(broker)
            #expect(letters.map(\.value) == [Array("heavy".utf8)])
            #expect(letters.first?.headers["traceparent"] == nil)
        }
    }

    @Test("A stop finishes and commits the batch in hand before it leaves")
    func stopFinishes() async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "b"])
            let server = try RedisServerProcess()
            let killed = Atomic(false)
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port) { _ in
                if !killed.exchange(true, ordering: .relaxed) { server.kill() }
            }
            await probe.complaints(Self.inVain, count: 2)
            let hasStopped = Mutex(false)
            let stopping = probe.beginStop().always { _ in hasStopped.withLock { $0 = true } }
            try await probe.turn()
            #expect(hasStopped.withLock { $0 } == false)
            let next = try RedisServerProcess(port: server.port)
            try await stopping.get()
            #expect(try await missing(["a", "b"], port: next.port).isEmpty)
            #expect(try committed(broker) == 2)
        }
    }

    @Test("A stop takes no further batch, and a second one is the same")
    func stopTakesNothing() async throws {
        try await withBroker { broker in
            try fill(broker, ["a"])
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            await probe.commit()
            let one = probe.beginStop()
            let other = probe.beginStop()
            try await one.get()
            try await other.get()
            try fill(broker, ["b"])
            try await probe.turn()
            #expect(try await missing(["a", "b"], port: server.port) == ["b"])
            #expect(try committed(broker) == 1)
        }
    }

    @Test("A change that is applied a second time changes nothing: a batch may be repeated after a crash")
    func repetition() async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "b"])
            let server = try RedisServerProcess()
            let store = try await TokenStore(port: server.port)
            let first = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            await first.commit()
            let keys = ["a", "b"].map { Array($0.utf8) }
            let before = try await store.records(keys)
            try await first.beginStop().get()
            try fill(broker, ["a", "b"])
            let second = try await ApplierProbe(broker: broker.bootstrapServers, redisPort: server.port)
            await second.commit()
            #expect(try await second.committed == 4)
            // It went on where the first had stopped.
            #expect(try await second.counters.applied == 2)
            #expect(try await store.records(keys) == before)
            try await second.beginStop().get()
            try await store.close()
        }
    }

    // MARK: Helpers

    private func withBroker(_ body: (EmbeddedBroker) async throws -> Void) async throws {
        let broker = try EmbeddedBroker(topics: Self.topics)
        defer { broker.close() }
        try await body(broker)
    }

    private func fill(_ broker: EmbeddedBroker, _ values: [String]) throws {
        try broker.publishBatch(
            to: ApplierProbe.source,
            values.map { (Array("key".utf8), Array($0.utf8)) },
            headers: [("content-type", Array("application/json".utf8)), ("other", [1])]
        )
    }

    /// Keys that Redis does not have.
    private func missing(_ keys: [String], port: Int) async throws -> [String] {
        let store = try await TokenStore(port: port)
        let values = try await store.records(keys.map { Array($0.utf8) })
        try await store.close()
        return zip(keys, values).compactMap { $1 == nil ? $0 : nil }
    }

    private func committed(_ broker: EmbeddedBroker) throws -> Int64? {
        var properties: KafkaProperties = ["bootstrap.servers": broker.bootstrapServers]
        properties["auto.offset.reset"] = "error"
        let consumer = try KafkaConsumer(
            properties: properties,
            group: ApplierProbe.group,
            topics: [ApplierProbe.source]
        )
        defer { consumer.close() }
        let place = KafkaTopicPartition(topic: ApplierProbe.source, partition: 0)
        return try consumer.committed([place], timeoutMilliseconds: 10_000).first?.offset
    }

    private struct Letter {
        var key: [UInt8]
        var value: [UInt8]
        var headers: [String: String] = [:]
    }

    private func read(_ broker: EmbeddedBroker) throws -> [Letter] {
        try contents(of: ApplierProbe.deadLetters, brokers: broker.bootstrapServers).flatMap { batch in
            (0..<batch.count).map { index in
                var letter = Letter(key: Array(batch[index].key), value: Array(batch[index].value))
                batch[index].forEachHeader { letter.headers[$0] = String(decoding: $1, as: UTF8.self) }
                return letter
            }
        }
    }
}
