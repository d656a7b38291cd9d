import Foundation
import KafkaClient
import PushTopics
import Synchronization

/// Counts what workers publish about failures: tombstones and dead letters. On a thread of its own.
final class Aftermath: Sendable {
    struct Counts: Equatable, Sendable {
        var tombstones = 0
        var deadLetters = 0
        /// Of keys and values; headers are small and of the same size whatever the record.
        var deadLetterBytes = 0
        /// Records that dead letters are about.
        var sources: Set<String> = []
    }

    private struct State {
        var counts = Counts()
        var failure: String?
        var isStopping = false
        var hasStopped = false
    }

    private let state = Mutex(State())

    private static let messagesPerRead = 5000

    var counts: Counts { state.withLock { $0.counts } }
    var failure: String? { state.withLock { $0.failure } }
    var hasStopped: Bool { state.withLock { $0.hasStopped } }

    func start(brokers: String, partitions: Int, pause: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [self] in
            do {
                try follow(brokers, partitions, pause)
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasStopped = true }
        }
    }

    /// Ends the thread; returns at once.
    func stop() {
        state.withLock { $0.isStopping = true }
    }

    private func follow(_ brokers: String, _ partitions: Int, _ pause: () -> Void) throws {
        let reader = try KafkaReader(properties: [
            // Far more dead letters than the broker keeps: those that are left are read.
            "bootstrap.servers": brokers, "auto.offset.reset": "earliest", "queued.max.messages.kbytes": "16384",
        ])
        defer { reader.close() }
        let names = TopicNames()
        let places = [names.tombstones, names.deadLetters].flatMap { topic in
            (0..<Int32(partitions)).map { KafkaTopicPartition(topic: topic, partition: $0) }
        }
        for place in places { try reader.begin(place, at: 0) }
        while !state.withLock({ $0.isStopping }) {
            var hasRead = false
            for place in places {
                guard let batch = reader.read(place, max: Self.messagesPerRead) else { continue }
                for index in 0..<batch.count where !batch[index].isError {
                    hasRead = true
                    note(batch[index], isTombstone: place.topic == names.tombstones)
                }
                batch.release()
            }
            if !hasRead { pause() }
        }
    }

    private func note(_ message: KafkaMessageView, isTombstone: Bool) {
        state.withLock { state in
            guard !isTombstone else {
                if !message.value.isEmpty { state.counts.tombstones += 1 }
                return
            }
            state.counts.deadLetters += 1
            state.counts.deadLetterBytes += message.key.count + message.value.count
            let source = ["source-partition", "source-offset"].map { name in
                message.header(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
            }
            state.counts.sources.insert(source.joined(separator: ":"))
        }
    }
}
