import Foundation
import KafkaClient
import PushSchemas
import PushTopics

/// The outcome of one notification, or of all of a record, on its way to push.outcomes.
struct OutcomeRecord {
    /// Position of the token in its record; nil: of all of them.
    var token: UInt32?
    var kind: PushOutcomeKind
    /// The gateway's status; 0: none.
    var status: UInt16
    var reason: String
    /// UNIX time.
    var decidedAtMilliseconds: Int64
    /// The notification was sent without a look at the token state.
    var isWithoutState: Bool
    /// See ``RereadRecord/warning(of:among:)``.
    var warning: String
    /// The broker refused the size. Texts whose length the request's producer chooses are left out, or cut.
    var isCut: Bool

    /// Most bytes of each of those that are cut.
    private static let textBytes = 256
    /// Of a summary, the numbers of its tokens.
    var counts: [OutcomeKind: UInt32] = [:]

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
        outcome.tokenIndex = token ?? 0
        outcome.bundleID = origin.bundleID
        outcome.environment = cut(origin.environment(configured: settings.environmentNames))
        let bytes = token.flatMap(origin.token(at:)) ?? UnsafeRawBufferPointer(start: nil, count: 0)
        outcome.token = Data(bytes.prefix(isCut ? Self.textBytes : bytes.count))
        outcome.kind = kind
        for (kind, tokens) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            outcome.counts.append(
                .with {
                    $0.kind = kind.message
                    $0.tokens = tokens
                }
            )
        }
        outcome.status = UInt32(status)
        outcome.reason = cut(reason)
        outcome.requestID = isCut ? "" : origin.requestID
        outcome.decidedAtMs = decidedAtMilliseconds
        outcome.withoutTokenState = isWithoutState
        outcome.warning = cut(warning)
        // Encoding fails for messages beyond 2 GiB only; this one is a few hundred bytes.
        let value: [UInt8] = (try? outcome.serializedBytes()) ?? []
        try producer.produce(
            topic: settings.names.outcomes,
            partition: nil,
            key: Array(origin.bundleID.utf8),
            value: value,
            headers: (isCut ? [] : origin.traceHeaders) + (origin.moved.map { [$0.header] } ?? []),
            opaque: opaque
        )
    }

    private func cut(_ text: String) -> String {
        guard isCut, text.utf8.count > Self.textBytes else { return text }
        return String(decoding: text.utf8.prefix(Self.textBytes), as: UTF8.self)
    }
}
