import BelfrySupport
import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics

/// A record of push.dead-letters with bytes of its own.
struct StoredDeadLetter: Sendable {
    /// Its partition.
    var place: KafkaTopicPartition
    var offset: Int64
    /// UNIX milliseconds; nil: the log does not tell.
    var writtenAt: Int64?
    var key: [UInt8]
    var value: [UInt8]
    /// In their order; text that is not UTF-8 is repaired.
    var headers: [(name: String, value: String)]

    init(_ message: KafkaMessageView) {
        place = KafkaTopicPartition(topic: message.topic, partition: message.partition)
        offset = message.offset
        writtenAt = message.timestampMilliseconds
        key = Array(message.key)
        value = Array(message.value)
        headers = []
        message.forEachHeader { name, value in
            headers.append((name, String(decoding: value, as: UTF8.self)))
        }
    }

    func header(_ name: String) -> String? { headers.last { $0.name == name }?.value }

    /// `push.dead-letters[2]@17`.
    var coordinates: String { "\(place)@\(offset)" }
    var reason: String { header("reason") ?? "" }
    var detail: String { header("detail") ?? "" }
    var sourceTopic: String { header("source-topic") ?? "" }

    /// `push.requests[5]@3`.
    var source: String {
        "\(sourceTopic)[\(header("source-partition") ?? "")]@\(header("source-offset") ?? "")"
    }

    /// The tokens at fault, `0-4,7`; nil: the whole record.
    var tokens: String? { header("token-indices") }
    /// The broker refused the size, and only the beginning is there, of the value or of the positions of tokens.
    var isCut: Bool { header("cut-from-bytes") != nil || header("cut-from-tokens") != nil }
    var contentType: RecordContentType {
        header(RecordContentType.headerName).map { text in
            Array(text.utf8).withUnsafeBytes { RecordContentType(header: $0) }
        } ?? .protobuf
    }

    /// Empty: the key names none.
    var bundleID: String {
        key.withUnsafeBytes { (try? RecordKey(parsing: $0))?.bundleID } ?? ""
    }
}
