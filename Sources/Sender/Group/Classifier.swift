import KafkaClient
import PipelineCore
import PushSchemas

/// Decodes a consumed record, and finds its topic.
///
/// Two steps, so that a decoded request is handed down and never wrapped: it is large, and each copy costs more than a
/// tenth of reading it.
struct Classifier {
    /// The topic of a record, or the reason why all of it becomes dead letters.
    enum Found {
        case topic(TopicDirectory.Found)
        /// `hash` is that of the topic that the record names; nil: it names none.
        case refused(RecordRefusal, hash: TopicHash?)
    }

    let directory: TopicDirectory
    private let memo = NotificationMemo()

    init(directory: TopicDirectory) { self.directory = directory }

    /// Decodes a record's value, which must outlive the view.
    @inline(__always)
    func decode(_ message: KafkaMessageView) throws(RecordRefusal) -> SendRequestView {
        try message.checkSize()
        do throws(RecordError) {
            return try SendRequestView(decoding: message.value, as: message.contentType, memo: memo)
        } catch {
            throw RecordRefusal(error)
        }
    }

    /// - Parameter salt: of the record's partition.
    func findTopic(of message: KafkaMessageView, environment: UnsafeRawBufferPointer, salt: TopicSalt) -> Found {
        do throws(RecordRefusal) {
            return .topic(try directory.find(key: message.key, environment: environment, salt: salt))
        } catch {
            return .refused(error, hash: TopicDirectory.hash(key: message.key, environment: environment, salt: salt))
        }
    }
}
