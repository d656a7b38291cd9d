import KafkaClient

/// The record at which the gap of a topic that lags begins: no record that waits is older.
struct GapStart {
    /// Its time of publishing, or an earlier one, UNIX milliseconds; nil: the log does not tell, or was not read.
    var publishedAt: Int64?
    /// The log does not tell more of it.
    var isRead = false
    /// Its publisher's id, with its offset; nil: it has none, or was not read.
    var request: (offset: Int64, id: String)?
}

extension GapStart {
    /// A record that was read.
    init(_ message: KafkaMessageView) {
        publishedAt = message.timestampMilliseconds
        isRead = true
        request = message.requestID.map { (message.offset, $0) }
    }
}
