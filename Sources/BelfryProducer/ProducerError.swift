import KafkaClient
import PushSchemas
import RequestRules

/// The reason that a ``PushProducer`` did not publish.
public enum ProducerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The request is wrong, in the words of the dead letters that a worker would write. Nothing of it was published.
    case refused([RequestFault])
    /// A setting of the producer or the bundle is wrong. Nothing was published.
    case misconfigured(String)
    /// Kafka did not acknowledge all records of a request.
    case notDelivered(PartialDelivery)
    /// The producer is closed, or being closed. Nothing of the request was published.
    case closed

    public var description: String {
        switch self {
        case .refused(let faults): faults.map(\.description).joined(separator: "\n")
        case .misconfigured(let reason): reason
        case .notDelivered(let delivery):
            "\(delivery.failedTokens.count) tokens in records that were not acknowledged: \(delivery.reason)"
        case .closed: "the producer is closed"
        }
    }

    /// - Throws: ``misconfigured(_:)`` for a value outside its range.
    static func checkSetting<V: Comparable>(
        _ name: String,
        _ value: V,
        _ allowed: ClosedRange<V>
    ) throws(ProducerError) {
        guard !allowed.contains(value) else { return }
        throw .misconfigured("\(name): found \(value); allowed: \(allowed.lowerBound)...\(allowed.upperBound)")
    }
}

/// The end of a request of which Kafka did not acknowledge every record.
public struct PartialDelivery: Equatable, Sendable {
    /// The records that are stored.
    public let published: [PublishedRecord]
    /// Indices in the request of the tokens in the other records. Those may be stored all the same, if only the answer
    /// was lost: publish them again under the same request id, so that workers find what is there twice.
    public let failedTokens: [Int]
    /// The first failure.
    public let reason: String
}

/// A record that all in-sync replicas have.
public struct PublishedRecord: Equatable, Sendable {
    /// `<bundle>` or `<bundle>#<shard>`
    public let key: String
    public let partition: Int32
    /// Nil: the broker's first answer was lost, and a retry found the record stored.
    public let offset: Int64?
    /// Indices in the request of the tokens in the record, in the record's order: outcomes name the producer's Kafka
    /// topic, partition, offset and the place in this list. Of a broadcast: 0.
    public let tokens: [Int]
}
