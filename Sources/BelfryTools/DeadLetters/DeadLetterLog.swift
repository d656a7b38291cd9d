import BelfrySupport
import Foundation
import KafkaClient
import PushTopics

/// Reads push.dead-letters up to the end that it has at the beginning, without a consumer group. Blocks its thread: for
/// commands, not for roles.
final class DeadLetterLog {
    private let settings: KafkaSettings
    private let topic: String
    private let reader: KafkaReader
    private let places: [KafkaTopicPartition]

    private let patience: LogPatience
    private let tell: (_ text: String) -> Void

    private static let clientID = "belfry-dead-letters"
    private static let timeoutMilliseconds: Int32 = 10_000
    private static let batch = 500

    /// - Parameters:
    ///   - topic: nil: that of the installation.
    ///   - patience: with brokers that go away while letters are read.
    ///   - tell: takes a line for standard error.
    /// - Throws: the brokers cannot be reached, or have no such topic.
    init(
        _ settings: KafkaSettings,
        topic: String? = nil,
        patience: LogPatience = LogPatience(),
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(ToolError) {
        self.settings = settings
        let topic = topic ?? TopicNames(settings).deadLetters
        self.topic = topic
        self.patience = patience
        self.tell = tell
        do throws(KafkaError) {
            let admin = try KafkaAdmin(forCommand: settings, clientID: Self.clientID, tell: tell)
            defer { admin.close() }
            let count = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try admin.partitionCount(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
            }
            places = (0..<Int32(count)).map { KafkaTopicPartition(topic: topic, partition: $0) }
            reader = try KafkaReader(properties: settings.adminProperties(clientID: Self.clientID))
            reader.onLog = { KafkaWords.tell($0, tell: tell) }
        } catch {
            throw ToolError(error)
        }
    }

    func close() { reader.close() }

    /// Reads one letter.
    ///
    /// - Throws: there is none.
    func letter(partition: Int32, offset: Int64) throws(ToolError) -> StoredDeadLetter {
        let place = KafkaTopicPartition(topic: topic, partition: partition)
        guard places.contains(place) else {
            throw .notFound("\(place): \(topic) has \(counted(places.count, "partition"))")
        }
        var found: StoredDeadLetter?
        try read([place], from: [partition: offset]) { letter in
            found = letter
            return false
        }
        guard let found, found.offset == offset else { throw .notFound("\(place)@\(offset): nothing stands there") }
        return found
    }

    /// Reads all partitions.
    ///
    /// - Parameters:
    ///   - starts: offsets to begin at; a partition without one begins at its beginning.
    ///   - take: false: nothing more is read.
    func readAll(
        from starts: [Int32: Int64] = [:],
        _ take: (StoredDeadLetter) throws(ToolError) -> Bool
    ) throws(ToolError) {
        try read(places, from: starts, take)
    }

    private func read(
        _ places: [KafkaTopicPartition],
        from starts: [Int32: Int64],
        _ take: (StoredDeadLetter) throws(ToolError) -> Bool
    ) throws(ToolError) {
        let ends = try begin(places, from: starts)
        defer { for place in reader.reading { reader.stop(place) } }
        var patience = patience
        while let place = reader.reading.first {
            guard let batch = reader.read(place, max: Self.batch) else {
                switch patience.nothingCame(now: .now) {
                case .wait: Thread.sleep(forTimeInterval: 0.005)
                case .tell: tell("waiting for the brokers at \(settings.brokers)")
                case .giveUp: throw .notFound("\(place): the brokers at \(settings.brokers) do not answer any more")
                }
                continue
            }
            patience.came()
            for index in 0..<batch.count {
                let message = batch[index]
                if let error = message.error {
                    guard error.isPartitionEnd else { throw ToolError(error) }
                    reader.stop(place)
                    break
                }
                guard message.offset < ends[place, default: 0] else {
                    reader.stop(place)
                    break
                }
                guard try take(StoredDeadLetter(message)) else { return }
                // Without waiting for the report of the end, which brokers that went away do not send.
                if message.offset + 1 == ends[place] { reader.stop(place) }
            }
        }
    }

    /// - Returns: the ends, beyond which nothing is taken: what is replayed may come back.
    private func begin(
        _ places: [KafkaTopicPartition],
        from starts: [Int32: Int64]
    ) throws(ToolError) -> [KafkaTopicPartition: Int64] {
        do throws(KafkaError) {
            let marks = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try reader.watermarks(of: places, timeoutMilliseconds: Self.timeoutMilliseconds)
            }
            var ends: [KafkaTopicPartition: Int64] = [:]
            for (place, marks) in zip(places, marks) {
                let start = max(marks.low, starts[place.partition] ?? marks.low)
                guard start < marks.high else { continue }
                ends[place] = marks.high
                try reader.begin(place, at: start)
            }
            return ends
        } catch {
            throw ToolError(error)
        }
    }
}
