import KafkaClient
import Testing

/// The records and errors that a test's consumers got.
struct Received {
    private(set) var numbers: [Int] = []
    private(set) var errors: [KafkaError] = []
    /// The offset that each error names, per partition.
    private(set) var errorOffsets: [Int32: [Int64]] = [:]
    /// Per partition, in the order of arrival.
    private(set) var offsets: [Int32: [Int64]] = [:]

    /// Each number `0 ..< count` once.
    func isComplete(_ count: Int) -> Bool { numbers.sorted().elementsEqual(0..<count) }

    mutating func take(_ batch: KafkaBatch) {
        for index in 0..<batch.count { take(batch[index]) }
    }

    mutating func take(_ message: KafkaMessageView) {
        if let error = message.error {
            errors.append(error)
            errorOffsets[message.partition, default: []].append(message.offset)
            return
        }
        numbers.append(Int(String(decoding: message.value, as: UTF8.self)) ?? -1)
        offsets[message.partition, default: []].append(message.offset)
    }
}

/// A guard against tests that would never end; no rule is about it.
let patience = Duration.seconds(60)

/// Serves consumers in turn until a condition holds.
func serve(
    _ consumers: KafkaConsumer...,
    max: Int = 100,
    sourceLocation: SourceLocation = #_sourceLocation,
    until condition: () -> Bool,
    take: (KafkaBatch) -> Void = { _ in },
    idle: () -> Void = {}
) {
    let deadline = ContinuousClock.now.advanced(by: patience)
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("waited in vain", sourceLocation: sourceLocation)
            return
        }
        for consumer in consumers {
            if let batch = consumer.consumeBatch(max: max, timeoutMilliseconds: 20) { take(batch) } else { idle() }
        }
    }
}
