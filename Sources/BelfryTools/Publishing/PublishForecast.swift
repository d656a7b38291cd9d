import BelfryProducer
import BelfrySupport
import PushSchemas
import RequestRules

/// The result of a dry run: all that would be published, and the mistakes.
public struct PublishForecast: Equatable, Sendable {
    /// The Kafka topic.
    public let topic: String
    public internal(set) var tokens = 0
    /// Of `tokens`, those that stand in their record before: the worker sends to them once.
    public internal(set) var repeatedTokens = 0
    public internal(set) var records = 0
    /// Of keys and values.
    public internal(set) var bytes = 0
    /// Tokens by partition.
    public internal(set) var partitions: [Int] = []
    /// The reason that the partitions are not known; nil: they are known.
    public internal(set) var partitionsUnknown: String?
    /// The payloads that the workers will make, without values of tokens' own.
    package internal(set) var payloads: [PayloadPreview] = []
    /// For people, one line for each; of the lines of a file the first.
    public internal(set) var faults: [String] = []

    init(topic: String, partitions: Result<Int, ToolError>) {
        self.topic = topic
        switch partitions {
        case .success(let count): self.partitions = Array(repeating: 0, count: count)
        case .failure(let error): partitionsUnknown = "\(error)"
        }
    }

    mutating func add(_ record: OutgoingRecord) {
        records += 1
        tokens += record.tokenCount
        repeatedTokens += record.repeatedTokens
        bytes += record.key.utf8.count + record.value.count
        guard !partitions.isEmpty else { return }
        let partition = KafkaPartitioner.murmur2Partition(key: record.key, count: Int32(partitions.count))
        partitions[Int(partition)] += record.tokenCount
    }

    /// Judges a record as a publication does before it leaves, which ends with the first one that is wrong.
    mutating func judge(_ record: OutgoingRecord, by validator: RequestValidator) {
        guard faults.isEmpty else { return }
        faults = record.faults(by: validator).map(\.description)
        // All records have the same.
        if faults.isEmpty, payloads.isEmpty { payloads = record.previews(by: validator) }
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("topic", topic)
        line.append("tokens", tokens)
        line.append("repeated_tokens", repeatedTokens)
        line.append("records", records)
        line.append("bytes", bytes)
        if let partitionsUnknown {
            line.append("partitions_unknown", partitionsUnknown)
        } else {
            var shares = JSONLine()
            for (partition, tokens) in partitions.enumerated() where tokens > 0 {
                shares.append("\(partition)", tokens)
            }
            line.append("tokens_by_partition", shares)
        }
        line.append(
            "payloads",
            payloads.map { payload in
                var line = JSONLine()
                if let language = payload.language { line.append("language", language) }
                line.append("bytes", payload.bytes.count)
                line.append("limit", payload.limitBytes)
                line.append("payload", String(decoding: payload.bytes, as: UTF8.self))
                if !payload.warning.isEmpty { line.append("warning", payload.warning) }
                return line
            }
        )
        line.append("faults", faults)
        return line.text
    }

    /// Sentences; the faults are not among them.
    public var text: String {
        let size = "\(counted(records, "record")), \(counted(bytes, "byte"))"
        var lines = ["dry run: \(counted(tokens, "token")) in \(size), for \(topic); nothing was published"]
        if repeatedTokens > 0 {
            lines.append("\(counted(repeatedTokens, "token")) repeated in the same record, to be sent to once")
        }
        for payload in payloads {
            let name = payload.language.map { "payload, \($0)" } ?? "payload"
            let size = "\(counted(payload.bytes.count, "byte")) of \(payload.limitBytes)"
            lines.append("\(name): \(size): \(String(decoding: payload.bytes, as: UTF8.self))")
            if !payload.warning.isEmpty { lines.append("\(name): \(payload.warning)") }
        }
        if let partitionsUnknown { lines.append("partitions: not known: \(partitionsUnknown)") }
        for (partition, tokens) in partitions.enumerated() where tokens > 0 {
            lines.append("partition \(partition): \(counted(tokens, "token"))")
        }
        return lines.joined(separator: "\n")
    }
}
