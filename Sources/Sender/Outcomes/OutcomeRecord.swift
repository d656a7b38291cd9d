import Foundation
import KafkaClient
import PushSchemas
import PushTopics

/// The outcome of one notification, on its way to push.outcomes.
struct OutcomeRecord {
    /// Position of the token in its record.
    var token: UInt32
    var kind: OutcomeKind
    /// The gateway's status; 0: none.
    var status: UInt16
    var reason: String
    /// UNIX time.
    var decidedAtMilliseconds: Int64
    /// The notification was sent without a look at the token state.
    var isWithoutState: Bool
    /// See ``RereadRecord/warning(of:over:)``.
    var warning: String
    /// The broker refused the size. Request id and trace, whose length the request's producer chooses, are left out.
    var isCut: Bool

    func publish(
        _ origin: RereadRecord,
        _ settings: ShardSettings,
        through producer: any MessageProducer,
        opaque: UInt64
    ) throws(KafkaError) {
        var outcome = PushOutcome()
        outcome.sourceTopic = settings.names.requests
        outcome.sourcePartition = origin.message.partition
        outcome.sourceOffset = origin.message.offset
        outcome.tokenIndex = token
        outcome.bundleID = origin.bundleID
        outcome.environment = origin.environment(configured: settings.environmentNames)
        outcome.token = origin.token(at: token).map { Data($0) } ?? Data()
        outcome.kind = kind.message
        outcome.status = UInt32(status)
        outcome.reason = reason
        outcome.requestID = isCut ? "" : origin.requestID
        outcome.decidedAtMs = decidedAtMilliseconds
        outcome.withoutTokenState = isWithoutState
        outcome.warning = warning
        // Encoding fails for messages beyond 2 GiB only; this one is a few hundred bytes.
        let value: [UInt8] = (try? outcome.serializedBytes()) ?? []
        try producer.produce(
            topic: settings.names.outcomes,
            partition: nil,
            key: Array(origin.bundleID.utf8),
            value: value,
            headers: isCut ? [] : origin.traceHeaders,
            opaque: opaque
        )
    }
}
