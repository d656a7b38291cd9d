import KafkaClient
import PushSchemas

/// What a record of push.feedback asks of the token state.
///
/// The tuple is dead news if the token registered at or after the second in which the app was found missing ([10]); the
/// tombstone script judges that, atomically.
struct FeedbackTupleDecoder {
    func change(for message: KafkaMessageView) throws(RecordRefusal) -> TokenChange {
        let tuple = try RecordRefusal.of { () throws(RecordError) in
            try RequestDecoding.decode(PushFeedbackTuple.self, from: message.value, as: message.contentType)
        }
        let key = try RecordRefusal.of { () throws(RecordError) in try RecordKey(parsing: message.key) }
        guard !tuple.token.isEmpty, !tuple.environment.isEmpty else {
            throw RecordRefusal(reason: "tuple-incomplete", detail: "the tuple names no token or no environment")
        }
        let tokenKey = tuple.token.withUnsafeBytes {
            TokenKey(environment: tuple.environment, bundleID: key.bundleID).bytes(token: $0)
        }
        return .tombstone(key: tokenKey, at: tuple.timestamp, reason: .feedback)
    }
}
