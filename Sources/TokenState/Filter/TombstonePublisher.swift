import APNsProtocol
import Foundation
import KafkaClient
import Logging
import PipelineCore
import PushSchemas
import PushTopics

/// Publishes changes of tokens to push.tombstones, for readers that keep a filter of dead tokens.
///
/// The topic is compacted by bundle ID and token. A record carries both timestamps from Redis after the change, so
/// readers merge records by maximum; one that arrives in the wrong order, or twice, does no harm. Compaction keeps the
/// last one alone: an older death there costs look-ups, and the role that tells of a revival looks afterwards if that
/// was older than a death. Bound to the event loop of its producer. The owner passes on the producer's reports about
/// records that ``isOwn(_:)`` recognises.
package final class TombstonePublisher {
    /// Set in the number of every record of this publisher, never in those of its owner.
    private static let mark: UInt64 = 1 << 63
    /// Most records handed over at once, so that a callback stays short.
    private static let slice = 1024

    private let producer: any MessageProducer
    private let topic: String
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private var pending: [UInt64: Pending] = [:]
    private var line = PublicationLine()
    private var logBudget: LineBudget
    private var next = TombstonePublisher.mark

    private struct Pending {
        var key: [UInt8]
        /// Nil: all data about the token was removed.
        var value: [UInt8]?
        var acknowledged: () -> Void
    }

    package init(
        producer: any MessageProducer,
        topic: String,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.producer = producer
        self.topic = topic
        self.logger = logger
        self.clock = clock
        logBudget = LineBudget(burst: 10, perSecond: 1, now: clock())
    }

    /// Records that are not acknowledged.
    package var count: Int { pending.count }

    /// Records that wait for operators: the brokers refuse them, or the topic.
    package var barredCount: Int { line.barredCount }

    /// The delivery report concerns a record of this publisher.
    package static func isOwn(_ number: UInt64) -> Bool { number & mark != 0 }

    /// The key of a token's records: `<bundle ID>#<token in lower-case hexadecimal digits>`.
    package static func key(bundleID: String, token: [UInt8]) -> [UInt8] {
        Array("\(bundleID)#\(Hex.encode(token))".utf8)
    }

    /// Reads a key of the form of ``key(bundleID:token:)``; nil for any other.
    package static func parse(key: UnsafeRawBufferPointer) -> (bundleID: String, token: [UInt8])? {
        guard let mark = key.lastIndex(of: UInt8(ascii: "#")), mark > 0,
            let token = try? Hex.decode(String(decoding: key[(mark + 1)...], as: UTF8.self))
        else { return nil }
        return (String(decoding: key[..<mark], as: UTF8.self), token)
    }

    /// Publishes the result of a change if it matters to readers: the token is dead, or no longer dead.
    ///
    /// - Parameter acknowledged: called once, when all in-sync replicas have the record; before the call returns if
    ///   there is nothing to publish. Never if the producer closes first.
    package func publish(_ change: TokenChange, _ facts: TokenFacts, acknowledged: @escaping () -> Void) {
        guard facts.concernReaders else { return acknowledged() }
        let message = PushTombstone.with {
            $0.token = Data(change.token)
            $0.bundleID = change.bundleID
            $0.environment = change.environment
            $0.registeredAt = Int64(facts.registeredAt)
            $0.tombstonedAt = Int64(facts.tombstonedAt)
            $0.reason = facts.reason.message
            $0.refused = facts.refused.map(\.message)
        }
        // Encoding fails for messages beyond 2 GiB only; this one is some hundred bytes.
        send(change.bundleID, change.token, (try? message.serializedBytes()) ?? [], acknowledged)
    }

    /// Publishes that all data about a token was removed.
    package func publishRemoval(bundleID: String, token: [UInt8], acknowledged: @escaping () -> Void) {
        send(bundleID, token, nil, acknowledged)
    }

    /// Takes the delivery report of a record of this publisher.
    package func delivered(_ number: UInt64, error: KafkaError?) {
        line.roomCame()
        if let error {
            refused(number, error)
        } else {
            line.acknowledged()
            pending.removeValue(forKey: number)?.acknowledged()
        }
        handOver()
    }

    /// Publishes undelivered records again, as far as it is their time. To be called each second.
    package func retry() {
        line.roomCame()
        handOver()
    }

    private func send(
        _ bundleID: String,
        _ token: [UInt8],
        _ value: [UInt8]?,
        _ acknowledged: @escaping () -> Void
    ) {
        let number = next
        next = (next + 1) | Self.mark
        pending[number] = Pending(
            key: Self.key(bundleID: bundleID, token: token),
            value: value,
            acknowledged: acknowledged
        )
        line.add(number)
        handOver()
    }

    private func handOver() {
        for _ in 0..<Self.slice {
            guard let number = line.takeNext(now: clock()) else { return }
            hand(over: number)
        }
    }

    private func hand(over number: UInt64) {
        guard let record = pending[number] else { return }
        do throws(KafkaError) {
            try producer.produce(
                topic: topic,
                partition: nil,
                key: record.key,
                value: record.value,
                headers: [],
                opaque: number
            )
        } catch {
            refused(number, error)
        }
    }

    private func refused(_ number: UInt64, _ error: KafkaError) {
        let now = clock()
        line.refused(number, error.refusal, now: now)
        // A storm of failures is one fault.
        guard !error.isQueueFull, let passedOver = logBudget.take(now: now) else { return }
        logger.error(
            "tombstone was not published; it is tried again",
            metadata: ["error": "\(error)", "passed-over": "\(passedOver)"]
        )
    }
}

extension RefusedKind {
    /// Nil: its kind, or its time, is none.
    package init?(_ message: PushRefusedKind) {
        guard let number = UInt8(exactly: message.kind.rawValue), number > 0,
            let at = UInt32(exactly: message.refusedAt)
        else { return nil }
        self.init(kind: TopicKind(rawValue: number), at: at)
    }

    fileprivate var message: PushRefusedKind {
        PushRefusedKind.with {
            $0.kind = PushTopicKind(rawValue: Int(kind.rawValue)) ?? .unspecified
            $0.refusedAt = Int64(at)
        }
    }
}

extension TokenRecord.Reason {
    fileprivate var message: PushTombstoneReason {
        switch self {
        case .none: .unspecified
        case .feedback: .feedback
        case .invalid: .invalid
        case .unregistered: .unregistered
        }
    }
}
