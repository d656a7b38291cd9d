import BelfrySupport
import Foundation
import KafkaClient
import PushTopics

/// Reads a Kafka topic up to the end that it has at the beginning, without a consumer group. Blocks its thread: for
/// commands, not for roles.
final class TopicLog {
    let topic: String
    let places: [KafkaTopicPartition]

    private let settings: KafkaSettings
    private let reader: KafkaReader
    private let patience: LogPatience
    private let tell: (_ text: String) -> Void

    private static let timeoutMilliseconds: Int32 = 10_000
    private static let batch = 500

    /// - Parameters:
    ///   - patience: with brokers that go away while the log is read.
    ///   - tell: takes a line for standard error.
    /// - Throws: the brokers cannot be reached, or have no such topic.
    init(
        _ settings: KafkaSettings,
        topic: String,
        clientID: String,
        patience: LogPatience = LogPatience(),
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(ToolError) {
        self.settings = settings
        self.topic = topic
        self.patience = patience
        self.tell = tell
        do throws(KafkaError) {
            let admin = try KafkaAdmin(forCommand: settings, clientID: clientID, tell: tell)
            defer { admin.close() }
            let count = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try admin.partitionCount(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
            }
            places = (0..<Int32(count)).map { KafkaTopicPartition(topic: topic, partition: $0) }
            reader = try KafkaReader(properties: settings.adminProperties(clientID: clientID))
            reader.onLog = { KafkaWords.tell($0, tell: tell) }
        } catch {
            throw ToolError(asking: error)
        }
    }

    func close() { reader.close() }

    /// The lowest offset of each partition, and the one that its next record gets.
    func watermarks(of places: [KafkaTopicPartition]) throws(ToolError) -> [KafkaWatermarks] {
        do throws(KafkaError) {
            return try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try reader.watermarks(of: places, timeoutMilliseconds: Self.timeoutMilliseconds)
            }
        } catch {
            throw ToolError(error)
        }
    }

    /// Reads partitions, one after the other.
    ///
    /// - Parameters:
    ///   - starts: offsets to begin at; a partition without one begins at its beginning.
    ///   - take: false: nothing more is read.
    func read(
        _ places: [KafkaTopicPartition],
        from starts: [Int32: Int64] = [:],
        _ take: (KafkaMessageView) throws(ToolError) -> Bool
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
                guard try take(message) else { return }
                // Without waiting for the report of the end, which brokers that went away do not send.
                if message.offset + 1 == ends[place] { reader.stop(place) }
            }
        }
    }

    /// - Returns: the ends, beyond which nothing is taken: the command itself may write what comes there.
    private func begin(
        _ places: [KafkaTopicPartition],
        from starts: [Int32: Int64]
    ) throws(ToolError) -> [KafkaTopicPartition: Int64] {
        var ends: [KafkaTopicPartition: Int64] = [:]
        for (place, marks) in zip(places, try watermarks(of: places)) {
            let start = max(marks.low, starts[place.partition] ?? marks.low)
            guard start < marks.high else { continue }
            ends[place] = marks.high
            do throws(KafkaError) {
                try reader.begin(place, at: start)
            } catch {
                throw ToolError(error)
            }
        }
        return ends
    }
}
