/// A property of librdkafka on which a promise of the pipeline rests, and the values that keep the promise.
///
/// `kafka.properties` tunes everything else. A value that breaks a promise would not fail: records would be lost, sent
/// twice or out of order, without a word. So it is refused before anything starts.
struct KafkaPromise: Sendable, Equatable {
    /// The values that keep the promise.
    enum Allowed: Sendable, Equatable {
        /// None: the roles set the property themselves.
        case nothing
        case flag(Bool)
        case words([String])
        case integers(ClosedRange<Int>)
    }

    /// The property and its aliases.
    let names: [String]
    let allowed: Allowed
    /// The reason for people.
    let reason: String

    /// The promise that `value` breaks; nil: none rests on the property, or the value keeps it.
    static func broken(by name: String, _ value: String) -> KafkaPromise? {
        // librdkafka takes every property of a topic with this before it, too.
        let name = name.hasPrefix("topic.") ? String(name.dropFirst("topic.".count)) : name
        guard let promise = byName[name], !promise.isKept(by: value) else { return nil }
        return promise
    }

    /// Follows "found" in a message.
    func found(_ value: String) -> String {
        allowed == .nothing ? "a property that belfry sets itself" : "\"\(value)\""
    }

    /// Follows "allowed:" in a message.
    var rule: String {
        switch allowed {
        case .nothing: "librdkafka's others; \(reason)"
        case .flag(let value): "\(value): \(reason)"
        case .words(let words): "\(words.joined(separator: ", ")): \(reason)"
        case .integers(let range): "\(range.lowerBound)...\(range.upperBound): \(reason)"
        }
    }

    /// Values as librdkafka reads them: upper and lower case are alike, and a flag has three spellings.
    private func isKept(by value: String) -> Bool {
        let value = value.lowercased()
        return switch allowed {
        case .nothing: false
        case .flag(let flag): (flag ? ["true", "t", "1"] : ["false", "f", "0"]).contains(value)
        case .words(let words): words.contains(value)
        case .integers(let range): Int(value).map { range.contains($0) } ?? false
        }
    }

    private static let byName = Dictionary(
        uniqueKeysWithValues: all.flatMap { promise in promise.names.map { ($0, promise) } }
    )

    private init(_ names: String..., allowed: Allowed, because reason: String) {
        self.names = names
        self.allowed = allowed
        self.reason = reason
    }
}

extension KafkaPromise {
    /// Every refusal; Deploy/CONFIGURATION.md has the same table.
    static let all = [
        // Properties that say where clients belong.
        KafkaPromise(
            "bootstrap.servers",
            "metadata.broker.list",
            "group.id",
            allowed: .nothing,
            because: "the brokers are kafka.brokers, the group is <role>.group-id"
        ),
        KafkaPromise(
            "test.mock.num.brokers",
            allowed: .nothing,
            because: "it replaces the brokers by some that forget everything"
        ),
        KafkaPromise(
            "transactional.id",
            allowed: .nothing,
            because: "a role has no transactions, and two clients of one ID fence each other"
        ),
        // Consuming: nothing is lost.
        KafkaPromise(
            "enable.auto.commit",
            "auto.commit.enable",
            "enable.auto.offset.store",
            allowed: .flag(false),
            because: "a position is committed when everything before it is done, and by the role alone"
        ),
        KafkaPromise(
            "auto.offset.reset",
            allowed: .words(["error"]),
            because: "a position outside the log raises an alert; a reset would skip or repeat records silently"
        ),
        KafkaPromise(
            "enable.partition.eof",
            allowed: .nothing,
            because: "the end of a partition tells readers that they have caught up"
        ),
        KafkaPromise(
            "isolation.level",
            allowed: .words(["read_committed"]),
            because: "records of an aborted transaction were never published"
        ),
        // Producing: acknowledged by all, in order, once.
        KafkaPromise(
            "acks",
            "request.required.acks",
            allowed: .words(["all", "-1"]),
            because: "a record is published when all in-sync replicas have it"
        ),
        KafkaPromise(
            "enable.idempotence",
            allowed: .flag(true),
            because: "a retry must neither repeat nor reorder records"
        ),
        KafkaPromise(
            "max.in.flight.requests.per.connection",
            "max.in.flight",
            allowed: .integers(1...5),
            because: "brokers keep the order of at most 5 requests in flight"
        ),
        KafkaPromise(
            "queuing.strategy",
            allowed: .words(["fifo"]),
            because: "records of one key are published in order"
        ),
        KafkaPromise(
            "message.timeout.ms",
            "delivery.timeout.ms",
            allowed: .words(["0"]),
            because: "a record is retried until the broker has it; one given up would be published out of order"
        ),
        KafkaPromise(
            "message.send.max.retries",
            "retries",
            allowed: .words(["2147483647"]),
            because: "a record is retried until the broker has it; one given up would be published out of order"
        ),
        KafkaPromise(
            "delivery.report.only.error",
            allowed: .flag(false),
            because: "without acknowledgements no position would ever be committed"
        ),
        KafkaPromise(
            "partitioner",
            allowed: .words(["murmur2_random"]),
            because: "a key has the same partition for every producer, in any language"
        ),
    ]
}
