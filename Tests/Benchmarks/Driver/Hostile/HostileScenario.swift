import Foundation
import FoundationNetworking
import KafkaClient
import LocalPipeline
import PushSchemas
import PushTopics
import Workbench

/// A worker of one shard with a healthy topic and a hostile one, beside a broker, a Redis server and a sandbox.
///
/// The embedded broker keeps 5 MiB of a partition. So hostile records come one at a time, each between two of the
/// healthy topic; and those that are to wait lie in many partitions.
final class HostileScenario {
    static let healthy = "com.example.healthy"
    static let hostile = "com.example.hostile"
    private static let startPatience = Duration.seconds(60)
    private static let patience = Duration.seconds(180)
    /// Time for which a number must stand still to count as settled.
    private static let quiet = Duration.seconds(2)
    /// The same behind a gateway that cannot be reached: longer than records pin what was fetched, and than the time
    /// between two returns of freed memory to the system.
    private static let rest = Duration.seconds(22)
    /// Bytes by which the resident set of a worker at rest may change.
    private static let noise = 1e6
    private static let shard = "belfry_tick_delay_seconds"

    private let pipeline: LocalPipeline
    private let partitions: Int
    private let worker: ChildProcess
    private let producer: KafkaProducer
    private let reader: KafkaReader
    private let operations: URL
    private let names = TopicNames()
    private let token: [UInt8]
    private var accepted = 0
    private var deadLetterBytes = 0

    /// Starts everything.
    ///
    /// - Parameter isReachable: the worker finds its gateway; else everything waits for it.
    init(executable: String, directory: String, isReachable: Bool) throws {
        partitions = isReachable ? 1 : 16
        let port = try freePort()
        var options = LocalPipeline.Options()
        options.topics = [Self.healthy, Self.hostile]
        options.devices = 1000
        options.partitions = partitions
        options.outcomes = "none"
        // Else a loop that waits for a processor counts as held.
        options.serversNice = 10
        options.worker =
            "{shards: 1, connections-per-topic: 1, confirmation-window: 1s, park-after: 1d, coalescing-window: 1s}"
        options.configuration = "operations: {listen: \"127.0.0.1:\(port)\"}"
        if !isReachable { options.gateway = "127.0.0.1:1" }
        let pipeline = try LocalPipeline(options, executable: executable, directory: directory)
        self.pipeline = pipeline
        do {
            guard let operations = URL(string: "http://127.0.0.1:\(port)/metrics"),
                let token = try pipeline.tokens(of: Self.healthy, first: 0, count: 1).first
            else { throw BenchmarkError("no token") }
            self.operations = operations
            self.token = token
            producer = try KafkaProducer(properties: [
                "bootstrap.servers": pipeline.brokers, "linger.ms": "1", "message.max.bytes": "2000000",
            ])
            reader = try KafkaReader(properties: ["bootstrap.servers": pipeline.brokers])
            worker = try pipeline.startWorker()
            for place in deadLetterPlaces { try reader.begin(place, at: 0) }
        } catch {
            pipeline.stop()
            throw error
        }
    }

    /// Ends everything that was started.
    func stop() {
        reader.close()
        producer.close()
        pipeline.stop()
    }

    private var deadLetterPlaces: [KafkaTopicPartition] {
        (0..<Int32(partitions)).map { KafkaTopicPartition(topic: names.deadLetters, partition: $0) }
    }

    /// Waits until the worker has its partitions.
    func prepare() throws {
        let deadline = ContinuousClock.now + Self.startPatience
        while WorkerLog.shardsWithPartitions(in: [worker]) < 1 {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("the worker gets no partitions") }
            producer.poll(timeoutMilliseconds: 20)
        }
    }

    // MARK: Holding the loop

    /// Brings records one after the other, each between two healthy ones, which must arrive.
    func hold(_ aim: HostileCase, rounds: Int, bytes: Int, seed: UInt64) async throws -> HostileReport {
        var random = SeededGenerator(seed: seed)
        try await bringHealthy()
        try await waitForHealthy()
        let before = try await metrics()
        readDeadLetters()
        deadLetterBytes = 0
        var report = HostileReport(name: aim.rawValue)
        for _ in 0..<rounds {
            let record = aim.record(of: Self.hostile, bytes: bytes, &random)
            report.records += 1
            report.recordBytes += record.bytes
            try await bringHealthy()
            let start = ContinuousClock.now
            try bring(record)
            try await bringHealthy()
            try await waitForHealthy()
            let milliseconds = start.duration(to: .now) / .milliseconds(1)
            report.healthyMilliseconds = max(report.healthyMilliseconds ?? 0, milliseconds)
            readDeadLetters()
        }
        // Windows of coalescing end meanwhile, answers of gateway and Redis are taken, and the last dead letters are
        // published.
        producer.poll(timeoutMilliseconds: 3000)
        let after = try await metrics()
        readDeadLetters()
        report.deadLetterBytes = deadLetterBytes
        report.worstMilliseconds = after.highestBound(of: Self.shard, since: before) * 1000
        return report
    }

    private func bringHealthy() async throws {
        var value = ProtobufBytes()
        value.field(3, HostileCase.payload)
        value.field(6, token)
        accepted += 1
        try bring(HostileRecord(key: Array(Self.healthy.utf8), value: value.bytes))
    }

    private func waitForHealthy() async throws {
        let deadline = ContinuousClock.now + Self.patience
        while try await pipeline.sandbox.stats().topics[Self.healthy]?.accepted ?? 0 < accepted {
            guard ContinuousClock.now < deadline, worker.isRunning else {
                throw BenchmarkError("the healthy topic does not go on; the worker runs: \(worker.isRunning)")
            }
            producer.poll(timeoutMilliseconds: 20)
        }
    }

    // MARK: Waiting

    /// Brings records that wait for a gateway, until the worker has them all.
    ///
    /// - Parameter record: one of them; called once for each.
    func wait(_ name: String, count: Int, _ record: () -> HostileRecord) async throws -> HostileReport {
        let start = ContinuousClock.now
        while start.duration(to: .now) < Self.quiet { producer.poll(timeoutMilliseconds: 100) }
        let before = try await metrics()
        var report = HostileReport(name: name)
        for number in 0..<count {
            let record = record()
            report.records += 1
            report.recordBytes += record.bytes
            try bring(record, partition: Int32(number % partitions))
        }
        try producer.flush(timeoutMilliseconds: 60_000)
        let after = try await settled()
        let growth = after.sum(of: Self.resident) - before.sum(of: Self.resident)
        let counted = after.sum(of: Self.held) - before.sum(of: Self.held)
        guard growth > 0 else { throw BenchmarkError("the worker has not grown") }
        report.countedRatio = counted / growth
        return report
    }

    private static let resident = "process_resident_memory_bytes"
    private static let held = "belfry_topic_held_bytes"

    /// The numbers once nothing is taken in any more, and the worker has copied what waits for long and given back what
    /// it no longer needs.
    private func settled() async throws -> MetricNumbers {
        let deadline = ContinuousClock.now + Self.patience
        var last = try await metrics()
        var since = ContinuousClock.now
        while since.duration(to: .now) < Self.rest {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("the worker does not come to rest") }
            producer.poll(timeoutMilliseconds: 100)
            let next = try await metrics()
            let hasMoved = abs(next.sum(of: Self.resident) - last.sum(of: Self.resident)) > Self.noise
            if hasMoved || next.sum(of: Self.held) != last.sum(of: Self.held) { (last, since) = (next, .now) }
        }
        return last
    }

    // MARK: Clients

    private func bring(_ record: HostileRecord, partition: Int32 = 0) throws {
        while true {
            do throws(KafkaError) {
                return try producer.produce(
                    topic: names.requests,
                    partition: partition,
                    key: record.key,
                    value: record.value,
                    headers: record.headers.map { ($0.name, $0.value) }
                )
            } catch {
                guard error.isQueueFull else { throw error }
                producer.poll(timeoutMilliseconds: 10)
            }
        }
    }

    private func readDeadLetters() {
        for place in deadLetterPlaces {
            while let batch = reader.read(place, max: 1000) {
                for index in 0..<batch.count where !batch[index].isError {
                    deadLetterBytes += batch[index].recordBytes
                }
                batch.release()
            }
        }
    }

    private func metrics() async throws -> MetricNumbers {
        let (data, _) = try await URLSession.shared.data(from: operations)
        return MetricNumbers(String(decoding: data, as: UTF8.self))
    }
}
