import APNsProtocol
import Foundation
import KafkaClient
import Logging
import PushSchemas

/// Publishes to push.tombstones what a change of a token's state means for those who keep a filter of dead tokens.
///
/// The topic is compacted by bundle ID and token. A record says both timestamps as they were in Redis after the change, so
/// readers merge records by maximum; one that arrives in the wrong order, or twice, does no harm. Lives on the event loop of
/// its producer; its owner hands it the producer's word on what ``isOwn(_:)``.
final class TombstonePublisher {
    /// Set in the number of every record of this publisher, never in those of its owner.
    private static let mark: UInt64 = 1 << 63

    private let producer: any MessageProducer
    private let topic: String
    private let logger: Logger
    private var pending: [UInt64: Pending] = [:]
    private var waiting: [UInt64] = []
    private var next = TombstonePublisher.mark

    private struct Pending {
        var key: [UInt8]
        /// Nil: nothing is known of the token any more.
        var value: [UInt8]?
        var acknowledged: () -> Void
    }

    init(producer: any MessageProducer, topic: String, logger: Logger) {
        self.producer = producer
        self.topic = topic
        self.logger = logger
    }

    /// Records that are not acknowledged.
    var count: Int { pending.count }

    /// Whether a delivery report is for a record of this publisher.
    static func isOwn(_ number: UInt64) -> Bool { number & mark != 0 }

    /// The key of a token's records: `<bundle ID>#<token in lower-case hexadecimal digits>`.
    static func key(bundleID: String, token: [UInt8]) -> [UInt8] {
        Array("\(bundleID)#\(Hex.encode(token))".utf8)
    }

    /// Reads a key that ``key(bundleID:token:)`` made; nil for another.
    static func parse(key: UnsafeRawBufferPointer) -> (bundleID: String, token: [UInt8])? {
        guard let mark = key.lastIndex(of: UInt8(ascii: "#")), mark > 0,
            let token = try? Hex.decode(String(decoding: key[(mark + 1)...], as: UTF8.self))
        else { return nil }
        return (String(decoding: key[..<mark], as: UTF8.self), token)
    }

    /// Publishes what a change came to, if it is news to a reader: the token is dead, or is no longer.
    ///
    /// - Parameter acknowledged: called once, when all in-sync replicas have the record; before the call returns if there is
    ///   nothing to publish. Never if the producer closes first.
    func publish(_ change: TokenChange, _ facts: TokenFacts, acknowledged: @escaping () -> Void) {
        guard facts.isDead || facts.wasRevived else { return acknowledged() }
        let message = PushTombstone.with {
            $0.token = Data(change.token)
            $0.bundleID = change.bundleID
            $0.environment = change.environment
            $0.registeredAt = Int64(facts.registeredAt)
            $0.tombstonedAt = Int64(facts.tombstonedAt)
            $0.reason = facts.reason.message
        }
        // Encoding fails for messages beyond 2 GiB only; this one is some hundred bytes.
        send(change.bundleID, change.token, (try? message.serializedBytes()) ?? [], acknowledged)
    }

    /// Publishes that nothing is known of a token any more.
    func publishRemoval(bundleID: String, token: [UInt8], acknowledged: @escaping () -> Void) {
        send(bundleID, token, nil, acknowledged)
    }

    /// The broker's word on a record of this publisher.
    func delivered(_ number: UInt64, error: KafkaError?) {
        if let error { return postpone(number, error) }
        pending.removeValue(forKey: number)?.acknowledged()
    }

    /// Tries again what was not delivered.
    func retry() {
        let numbers = waiting
        waiting = []
        for number in numbers { hand(over: number) }
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
        hand(over: number)
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
            postpone(number, error)
        }
    }

    private func postpone(_ number: UInt64, _ error: KafkaError) {
        if !error.isQueueFull {
            logger.error("tombstone was not published; it is tried again", metadata: ["error": "\(error)"])
        }
        waiting.append(number)
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
