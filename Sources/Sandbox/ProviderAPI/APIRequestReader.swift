import APNsProtocol
import HTTP2Transport

/// Reads the requests of one connection: all checks that need no more than the request, the credential and the token
/// key.
///
/// Belongs to one thread, as its token opener does.
struct APIRequestReader {
    private var head = ProviderRequestHead()
    private var memo = ProviderDestinationMemo()
    private let opener: TokenOpener
    /// By bundle ID.
    private let topics: [String: Int]
    /// The topic of the last request in order: the next one mostly has the same.
    private var last: (bundle: String, topic: Int)?

    init(service: PushService) {
        opener = TokenOpener(mints: service.topics.map(service.mint))
        topics = Dictionary(uniqueKeysWithValues: service.topics.enumerated().map { ($1.name, $0) })
    }

    /// Reads a request that is complete.
    ///
    /// - Parameter now: UNIX seconds, by the clock for provider tokens.
    mutating func read(
        _ message: HTTP2Message,
        on stream: HTTP2StreamID,
        _ authentication: inout APIAuthentication,
        now: Int64
    ) -> APIRequest {
        head.clear()
        message.forEachField { head.add(name: $0, value: $1) }
        do throws(ProviderReason) {
            let (topic, order) = try order(message.bodyBytes, &authentication, now)
            return APIRequest(stream: stream, message: message, topic: topic, order: order)
        } catch {
            let topic = namedTopic(authentication)
            return APIRequest(
                stream: stream,
                message: message,
                topic: topic,
                order: nil,
                ruling: .refused(RequestRefusal(error))
            )
        }
    }

    private mutating func order(
        _ payloadBytes: Int,
        _ authentication: inout APIAuthentication,
        _ now: Int64
    ) throws(ProviderReason) -> (topic: Int, order: APIOrder) {
        var opened: (topic: Int, instance: AppInstance)?
        let request = try ProviderRequestCheck.check(
            head,
            payloadBytes: payloadBytes,
            memo: &memo,
            credential: { authorization throws(ProviderReason) in
                try authentication.credential(authorization, now: now)
            },
            openToken: { [opener] token throws(ProviderReason) in
                opened = opener.open(token)
                guard opened != nil else { throw .badDeviceToken }
            }
        )
        guard let topic = topic(named: request.bundle) else { throw .topicDisallowed }
        guard let opened, opened.topic == topic else { throw .deviceTokenNotForTopic }
        let order = APIOrder(
            instance: opened.instance,
            expiration: request.expiration.map { UInt32(clamping: $0) } ?? .max,
            priority: request.priority,
            pushType: request.pushType,
            collapseID: request.collapseID
        )
        return (topic, order)
    }

    private mutating func topic(named bundle: String) -> Int? {
        if let last, last.bundle == bundle { return last.topic }
        guard let topic = topics[bundle] else { return nil }
        last = (bundle, topic)
        return topic
    }

    /// The topic in whose books a request stands that was refused before its topic was looked at.
    private func namedTopic(_ authentication: APIAuthentication) -> Int? {
        let name = head.text(of: .topic) ?? authentication.bundle
        guard let name else { return nil }
        return topics[name] ?? PushType.named(bySuffixOf: name)?.bundle(ofTopic: name).flatMap { topics[$0] }
    }
}
