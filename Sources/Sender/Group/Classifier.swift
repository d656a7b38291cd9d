import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics

/// Finds the topic of a consumed record, and decodes the record.
struct Classifier {
    enum Found {
        case request(SendRequestView, TopicDirectory.Found)
        /// The whole record becomes a dead letter; `tokens` of its notifications get an outcome. `hash` is that of the
        /// topic that the record names; nil: it names none.
        case refused(RecordRefusal, tokens: Int, hash: TopicHash?)
    }

    let directory: TopicDirectory

    func classify(_ message: KafkaMessageView) -> Found {
        let request: SendRequestView
        do throws(RecordRefusal) {
            guard message.value.count <= ShardLimits.recordBytes else {
                throw RecordRefusal(
                    reason: "value-too-large",
                    detail: "the value has \(message.value.count) bytes; \(ShardLimits.recordBytes) are allowed"
                )
            }
            request = try RecordRefusal.of { () throws(RecordError) in
                try SendRequestView(decoding: message.value, as: message.contentType)
            }
        } catch {
            // A record that cannot be decoded counts as one notification.
            return .refused(error, tokens: 1, hash: nil)
        }
        do throws(RecordRefusal) {
            return .request(request, try directory.find(key: message.key, environment: request.environment))
        } catch {
            return .refused(
                error,
                tokens: request.tokenCount,
                hash: TopicDirectory.hash(key: message.key, environment: request.environment)
            )
        }
    }
}
