import KafkaClient
import PushSchemas
import PushTopics

/// Finds the topic of a consumed record, and decodes the record.
struct Classifier {
    enum Found {
        case request(SendRequestView, TopicDirectory.Found)
        /// The whole record becomes a dead letter; `tokens` of its notifications get an outcome.
        case refused(RecordRefusal, tokens: Int)
    }

    let directory: TopicDirectory

    func classify(_ message: KafkaMessageView) -> Found {
        // A record that cannot be decoded counts as one notification.
        var tokens = 1
        do throws(RecordRefusal) {
            guard message.value.count <= ShardLimits.recordBytes else {
                throw RecordRefusal(
                    reason: "value-too-large",
                    detail: "the value has \(message.value.count) bytes; \(ShardLimits.recordBytes) are allowed"
                )
            }
            let request = try RecordRefusal.of { () throws(RecordError) in
                try SendRequestView(decoding: message.value, as: message.contentType)
            }
            tokens = request.tokenCount
            return .request(request, try directory.find(key: message.key, environment: request.environment))
        } catch {
            return .refused(error, tokens: tokens)
        }
    }
}
