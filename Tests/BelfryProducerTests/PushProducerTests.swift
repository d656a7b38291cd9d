import Foundation
import KafkaClient
import PushSchemas
import Synchronization
import Testing

@testable import BelfryProducer

/// The producer with the embedded broker.
@Suite("Publishing from other packages")
struct PushProducerTests {
    private static let topic = "push.requests"

    private func withBroker(
        queueRecords: Int = 1000,
        deliveryTimeout: Duration = .seconds(60),
        onFull: @escaping @Sendable () -> Void = {},
        body: (PushProducer, EmbeddedBroker) async throws -> Void
    ) async throws {
        let broker = try EmbeddedBroker(topics: [(Self.topic, 4)])
        defer { broker.close() }
        var configuration = ProducerConfiguration(brokers: broker.bootstrapServers)
        configuration.queueRecords = queueRecords
        configuration.deliveryTimeout = deliveryTimeout
        let producer = try await PushProducer(configuration, onFull: onFull)
        do {
            try await body(producer, broker)
        } catch {
            await producer.close()
            throw error
        }
        await producer.close()
    }

    private static func token(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) } + [UInt8](repeating: 0xAB, count: 28)
    }

    private func request(tokens: Int, from first: Int = 0) -> PushSendRequest {
        .with {
            $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
            $0.packedTokens = Data((first..<first + tokens).flatMap(Self.token))
        }
    }

    private func bundle(spread: Int = 1, perRecord: Int = 500) -> PushBundle {
        var bundle = PushBundle(id: "com.example.news")
        bundle.spread = spread
        bundle.tokensPerRecord = perRecord
        return bundle
    }

    /// Tokens by partition and offset.
    private func stored(
        _ broker: EmbeddedBroker,
        in topic: String = Self.topic,
        records: Int
    ) throws -> [Place: [[UInt8]]] {
        let reader = try KafkaTopicReader(
            properties: ["bootstrap.servers": broker.bootstrapServers],
            topic: topic,
            from: .beginning,
            timeoutMilliseconds: 30_000
        )
        defer { reader.close() }
        var found: [Place: [[UInt8]]] = [:]
        while found.count < records {
            guard let batch = reader.read(max: 1000, timeoutMilliseconds: 30_000) else { break }
            for index in 0..<batch.count {
                let view = try SendRequestView(decoding: batch[index].value, as: .protobuf)
                let place = Place(partition: batch[index].partition, offset: batch[index].offset)
                found[place] = (0..<view.tokenCount).map { Array(view.token(at: $0).bytes) }
            }
        }
        return found
    }

    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    private struct Place: Hashable {
        var partition: Int32
        var offset: Int64
    }

    @Test("What it returns is where the tokens are, in the partitions that Java would choose")
    func places() async throws {
        try await withBroker { producer, broker in
            let records = try await producer.publish(request(tokens: 500), to: bundle(spread: 8, perRecord: 20))
            let stored = try stored(broker, records: records.count)
            #expect(stored.count == records.count)
            for record in records {
                #expect(record.partition == KafkaPartitioner.murmur2Partition(key: record.key, count: 4))
                let place = Place(partition: record.partition, offset: try #require(record.offset))
                #expect(stored[place] == record.tokens.map(Self.token))
            }
            #expect(records.flatMap(\.tokens).sorted() == Array(0..<500))
        }
    }

    @Test("A producer publishes into its lane alone")
    func lane() async throws {
        let broker = try EmbeddedBroker(topics: [(Self.topic, 4), ("push.requests.bulk", 4)])
        defer { broker.close() }
        let configurations = [
            ProducerConfiguration(brokers: broker.bootstrapServers),
            ProducerConfiguration(brokers: broker.bootstrapServers, lane: .bulk),
        ]
        for configuration in configurations {
            let producer = try await PushProducer(configuration)
            let records = try await producer.publish(request(tokens: 3), to: bundle(perRecord: 1))
            await producer.close()
            #expect(records.compactMap(\.offset) == [0, 1, 2], "nothing was there before")
            #expect(try stored(broker, in: configuration.topic, records: 3).count == 3)
        }
    }

    @Test("While the client's queue is full publishers are suspended; then all is published, in order")
    func backPressure() async throws {
        let (full, signal) = AsyncStream.makeStream(of: Void.self)
        let onFull: @Sendable () -> Void = { signal.yield() }
        try await withBroker(queueRecords: 10, onFull: onFull) { producer, broker in
            broker.setDown(true)
            let bundle = bundle(perRecord: 1)
            let handedOver = Flag()
            try await withThrowingTaskGroup(of: [PublishedRecord].self) { tasks in
                tasks.addTask {
                    // With an early end no task waits for the signal.
                    func enqueued() async throws -> PendingRequest {
                        defer { signal.finish() }
                        return try await producer.enqueue(request(tokens: 100), to: bundle)
                    }
                    let pending = try await enqueued()
                    handedOver.value.withLock { $0 = true }
                    return try await pending.published()
                }
                var signals = full.makeAsyncIterator()
                await signals.next()
                #expect(!handedOver.value.withLock { $0 })
                broker.setDown(false)
                let records = try #require(try await tasks.next())
                #expect(records.map(\.tokens) == (0..<100).map { [$0] })
                let offsets = records.compactMap(\.offset)
                #expect(offsets == Array(0..<100))
            }
        }
    }

    @Test("What the brokers do not acknowledge in time is told, with its tokens")
    func notDelivered() async throws {
        try await withBroker(deliveryTimeout: .seconds(1)) { producer, broker in
            broker.setDown(true)
            do throws(ProducerError) {
                _ = try await producer.publish(request(tokens: 3), to: bundle(perRecord: 2))
                Issue.record("the broker is down")
            } catch {
                guard case .notDelivered(let delivery) = error else { throw error }
                #expect(delivery.published.isEmpty && delivery.failedTokens == [0, 1, 2] && !delivery.reason.isEmpty)
            }
        }
    }

    @Test("Nothing of a request with a mistake is published")
    func refused() async throws {
        try await withBroker { producer, broker in
            var wrong = request(tokens: 10)
            wrong.priority = 7
            let error = await #expect(throws: ProducerError.self) {
                try await producer.publish(wrong, to: bundle(perRecord: 1))
            }
            guard case .refused(let faults) = error else { throw try #require(error) }
            #expect(faults.map(\.refusal.reason) == ["priority-invalid"])
            _ = try await producer.publish(request(tokens: 1), to: bundle())
            #expect(try stored(broker, records: 1).count == 1)
        }
    }

    @Test("Closing waits for what was handed over, and refuses what comes later")
    func closing() async throws {
        try await withBroker { producer, broker in
            var pending: [PendingRequest] = []
            for number in 0..<20 {
                pending.append(try await producer.enqueue(request(tokens: 50, from: 50 * number), to: bundle()))
            }
            await producer.close()
            var tokens = 0
            for each in pending { tokens += try await each.published().reduce(0) { $0 + $1.tokens.count } }
            #expect(tokens == 1000)
            await #expect(throws: ProducerError.closed) {
                try await producer.publish(request(tokens: 1), to: bundle())
            }
            #expect(try stored(broker, records: 20).count == 20)
        }
    }

    @Test("All callers that close wait for the same end")
    func closedByMany() async throws {
        try await withBroker { producer, broker in
            broker.setDown(true)
            let pending = try await producer.enqueue(request(tokens: 1), to: bundle())
            let isUp = Flag()
            let (begun, signal) = AsyncStream.makeStream(of: Void.self)
            await withTaskGroup(of: Void.self) { tasks in
                for _ in 0..<20 {
                    tasks.addTask {
                        signal.yield()
                        await producer.close()
                        #expect(isUp.value.withLock { $0 }, "its record is still under way")
                    }
                }
                var signals = begun.makeAsyncIterator()
                for _ in 0..<20 { await signals.next() }
                isUp.value.withLock { $0 = true }
                broker.setDown(false)
            }
            #expect(try await pending.published().count == 1)
        }
    }

    @Test("A producer that is let go without being closed ends by itself")
    func letGo() async throws {
        let broker = try EmbeddedBroker(topics: [(Self.topic, 1)])
        defer { broker.close() }
        let pending = try await Self.abandoned(broker, request(tokens: 1), bundle())
        // Published, or given up: it has an end.
        do {
            #expect(try await pending.published().count == 1)
        } catch {
            guard case .notDelivered(let delivery) = error else { throw error }
            #expect(delivery.published.isEmpty)
        }
    }

    private static func abandoned(
        _ broker: EmbeddedBroker,
        _ request: PushSendRequest,
        _ bundle: PushBundle
    ) async throws -> PendingRequest {
        let producer = try await PushProducer(ProducerConfiguration(brokers: broker.bootstrapServers))
        return try await producer.enqueue(request, to: bundle)
    }
}
