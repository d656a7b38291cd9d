import APNsProtocol
import BelfrySupport
import KafkaClient
import PushSchemas
import PushTopics
import RequestRules

/// A consumed record, decoded again for an outcome or a dead letter.
///
/// Requests are not kept decoded while they are in flight; the few values that failures need are read again.
final class RereadRecord {
    /// Number of the ``AppFeed``.
    let feed: UInt32
    let record: UInt32
    let message: KafkaMessageView
    let bundleID: String
    /// Nil if the record cannot be decoded.
    let request: SendRequestView?
    /// W3C trace context, passed on.
    let traceHeaders: [(String, [UInt8])]
    /// Nil: the record was not moved into the lane.
    let moved: MovedOrigin?

    /// See ``common(among:)``.
    private var commonWarnings: Warnings?
    private var content: StructuredContent?
    /// The message's memory.
    private let batch: KafkaBatch

    /// - Parameter movesFrom: see ``ShardSettings/movesFrom``.
    init(feed: UInt32, record: UInt32, batch: KafkaBatch, index: Int, movesFrom: String? = nil) {
        self.feed = feed
        self.record = record
        self.batch = batch
        let message = batch[index]
        self.message = message
        bundleID = (try? RecordKey(parsing: message.key))?.bundleID ?? ""
        request = try? message.request()
        traceHeaders = message.traceHeaders
        moved = movesFrom.flatMap { MovedOrigin(of: message, from: $0) }
    }

    var requestID: String {
        request.map { String(decoding: $0.requestID, as: UTF8.self) } ?? ""
    }

    /// Says what the worker changed, and what it found, for tokens without values of their own, for the request's
    /// publisher to know; empty: nothing.
    ///
    /// - Parameter topics: those whose records the feed has.
    func warning(among topics: [Topic]) -> String { common(among: topics).text }

    /// Says the same for one token.
    func warning(of index: UInt32, among topics: [Topic]) -> String {
        var warnings = common(among: topics)
        guard let request, let content, Int(index) < request.tokenCount else { return warnings.text }
        let token = request.token(at: Int(index))
        guard let overrides = token.overrides else { return warnings.text }
        // Each language is looked at for it, and only these two values change the answer.
        if overrides.badge != nil || !overrides.locale.isEmpty { warnings.priority = content.warning(for: overrides) }
        warnings.ownTexts = topic(among: topics)?.sensitiveData.warning(of: token)?.description ?? ""
        return warnings.text
    }

    /// Sentences; empty: nothing.
    private struct Warnings {
        var priority: String
        var texts: String
        var move: String
        /// Of the texts of the token's own.
        var ownTexts = ""

        var text: String {
            if texts.isEmpty, ownTexts.isEmpty, move.isEmpty { return priority }
            return [priority, texts, ownTexts, move].filter { !$0.isEmpty }.joined(separator: "; ")
        }
    }

    private func common(among topics: [Topic]) -> Warnings {
        if let commonWarnings { return commonWarnings }
        let topic = topic(among: topics)
        let warnings = Warnings(
            priority: judgePriority(over: topic?.transport),
            texts: judgeTexts(by: topic?.sensitiveData ?? .off),
            move: moved?.warning ?? ""
        )
        commonWarnings = warnings
        return warnings
    }

    /// The topic of its bundle among those of its feed.
    func topic(among topics: [Topic]) -> Topic? { topics.first { $0.bundleID == bundleID } }

    private func judgePriority(over transport: EnvironmentSettings.Transport?) -> String {
        guard let request, request.isStructured else { return "" }
        let pushType = transport == .http2 ? try? PushType.named(by: request) : nil
        content = try? StructuredContent(of: request, pushType)
        return content?.warning(for: nil) ?? ""
    }

    private func judgeTexts(by policy: SensitiveDataPolicy) -> String {
        // A notification that cannot be sent may have anything for names in it.
        guard let request, content != nil || !request.isStructured else { return "" }
        return (try? policy.judge(request, payload: request.payload))?.description ?? ""
    }

    /// The environment that the request names, or the only one configured.
    func environment(configured: [String]) -> String {
        guard let request else { return "" }
        if request.environment.isEmpty { return configured.count == 1 ? configured[0] : "" }
        return String(decoding: request.environment, as: UTF8.self)
    }

    /// The token of a notification; nil: it is for a channel, or cannot be read.
    func token(at index: UInt32) -> UnsafeRawBufferPointer? {
        guard let request, !request.isBroadcast, Int(index) < request.tokenCount else { return nil }
        return request.token(at: Int(index)).bytes
    }
}
