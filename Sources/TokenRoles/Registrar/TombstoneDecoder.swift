import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Decodes a record of push.tombstones into changes of the token state. They say that a token which a gateway called
/// invalid is still dead.
///
/// The worker writes such a tombstone to Redis before it publishes it, and it stands nowhere else; a fail-over that
/// loses the write leaves the record as its only trace. All others come from push.feedback and push.registrations,
/// which are applied again by themselves.
struct TombstoneDecoder: Sendable {
    /// The configured environments. Others share the topic, and have a Redis of their own.
    var environments: [String]

    func changes(for message: KafkaMessageView) throws(RecordRefusal) -> [TokenChange] {
        guard message.value.baseAddress != nil else { return removals(by: message) }
        let tombstone = try RecordRefusal.of { () throws(RecordError) in
            try RequestDecoding.decode(PushTombstone.self, from: message.value, as: .protobuf)
        }
        guard environments.contains(tombstone.environment), !tombstone.token.isEmpty else { return [] }
        var kinds: [TokenChange.Kind] = []
        if tombstone.reason == .invalid, tombstone.tombstonedAt > tombstone.registeredAt,
            let at = UInt32(exactly: tombstone.tombstonedAt)
        {
            kinds.append(.tombstone(at: believed(at, by: message), .invalid))
        }
        for refused in tombstone.refused.compactMap({ RefusedKind($0) })
        where Int64(refused.at) > tombstone.registeredAt {
            kinds.append(.refuse(at: believed(refused.at, by: message), refused.kind))
        }
        return kinds.map { kind in
            TokenChange(
                environment: tombstone.environment,
                bundleID: tombstone.bundleID,
                token: Array(tombstone.token),
                kind: kind
            )
        }
    }

    /// The time of a death. One that lies ahead of its record would outweigh registrations to come; then the record's
    /// time counts. Workers of older versions dated deaths by their own clocks alone.
    private func believed(_ seconds: UInt32, by message: KafkaMessageView) -> UInt32 {
        guard let published = message.timestampMilliseconds.map({ $0 / 1000 }),
            ForeignClock.isTooFarAhead(seconds, of: published)
        else { return seconds }
        return UInt32(clamping: published)
    }

    /// An operator had the token forgotten: what a record before this one has put back goes again. The key names no
    /// environment.
    private func removals(by message: KafkaMessageView) -> [TokenChange] {
        guard let (bundleID, token) = TombstonePublisher.parse(key: message.key),
            let seconds = message.timestampMilliseconds.flatMap({ UInt32(exactly: $0 / 1000) })
        else { return [] }
        return environments.map {
            TokenChange(environment: $0, bundleID: bundleID, token: token, kind: .forgetInvalid(at: seconds))
        }
    }
}
