import BelfrySupport
import KafkaClient
import PushSchemas
import PushTopics
import RequestRules

/// A consumed record, decoded again for an outcome or a dead letter.
///
/// Requests are not kept decoded while they are in flight; the few values that failures need are read again.
final class RereadRecord {
    /// Number of the ``TopicFeed``.
    let feed: UInt32
    let record: UInt32
    let message: KafkaMessageView
    let bundleID: String
    /// Nil if the record cannot be decoded.
    let request: SendRequestView?
    /// W3C trace context, passed on.
    let traceHeaders: [(String, [UInt8])]

    /// See ``warning(over:)``.
    private var commonWarning: String?
    private var content: StructuredContent?
    /// The message's memory.
    private let batch: KafkaBatch

    init(feed: UInt32, record: UInt32, batch: KafkaBatch, index: Int) {
        self.feed = feed
        self.record = record
        self.batch = batch
        message = batch[index]
        bundleID = (try? RecordKey(parsing: message.key))?.bundleID ?? ""
        request =
            message.value.count <= RequestValue.limitBytes
            ? try? SendRequestView(decoding: message.value, as: message.contentType) : nil
        traceHeaders = TraceContext.headerNames.compactMap { name in
            batch[index].header(name).map { (name, Array($0)) }
        }
    }

    var requestID: String {
        request.map { String(decoding: $0.requestID, as: UTF8.self) } ?? ""
    }

    /// Says what the worker changed for tokens without values of their own, for the request's publisher to know; empty:
    /// nothing.
    ///
    /// - Parameter transport: of the topic's environment.
    func warning(over transport: EnvironmentSettings.Transport?) -> String {
        let common = commonWarning ?? judge(over: transport)
        commonWarning = common
        return common
    }

    /// Says what the worker changed for one token.
    ///
    /// - Parameters:
    ///   - index: of the token.
    ///   - transport: of the topic's environment.
    func warning(of index: UInt32, over transport: EnvironmentSettings.Transport?) -> String {
        let common = warning(over: transport)
        guard let request, let content, Int(index) < request.tokenCount,
            let overrides = request.token(at: Int(index)).overrides
        else { return common }
        return content.warning(for: overrides)
    }

    private func judge(over transport: EnvironmentSettings.Transport?) -> String {
        guard let request, request.isStructured else { return "" }
        let pushType = transport == .http2 ? try? ProviderTerms.namedPushType(of: request) : nil
        content = try? StructuredContent(of: request, pushType)
        return content?.warning(for: nil) ?? ""
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
