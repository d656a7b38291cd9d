import APNsProtocol
import HTTP2Transport
import SeededNumbers

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
    private let environment: PushEnvironment
    /// For ids that the service makes.
    private var random: SeededGenerator
    /// The topic of the last request in order: the next one mostly has the same.
    private var last: (bundle: String, topic: Int)?

    /// - Parameter seed: of the ids that the service makes for channels and requests about them.
    init(service: PushService, seed: UInt64) {
        environment = service.environment
        random = SeededGenerator(seed: seed)
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
            // The many are about devices: only one that is not finds out here whether it is about channels.
            if let request = channelRequest(message, on: stream, &authentication, now) { return request }
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

    /// Reads a request about channels; nil: it is about something else.
    private mutating func channelRequest(
        _ message: HTTP2Message,
        on stream: HTTP2StreamID,
        _ authentication: inout APIAuthentication,
        _ now: Int64
    ) -> APIRequest? {
        guard let path = head.text(of: .path).flatMap({ BroadcastPath($0) }) else { return nil }
        let channels = ChannelRequestReader(message, path: path, method: head.text(of: .method) ?? "")
        let topic = topics[path.bundle]
        var order: ChannelRequest.Order?
        var refusal: RequestRefusal?
        do throws(ProviderReason) {
            let found = try channels.order { () throws(ProviderReason) in
                try head.withValues { values throws(ProviderReason) in
                    try authentication.credential(values[.authorization], now: now)
                }
            }
            guard topic != nil else { throw .topicMismatch }
            order = found
        } catch {
            refusal = RequestRefusal(error)
        }
        var isBroadcast = false
        if case .broadcast = path { isBroadcast = true }
        let request = ChannelRequest(
            order,
            id: channels.id ?? newID(),
            uniqueID: isBroadcast && environment == .development ? newID() : nil,
            random: SeededGenerator(seed: random.next())
        )
        return APIRequest(
            stream: stream,
            message: message,
            topic: topic,
            order: nil,
            channels: request,
            ruling: refusal.map { .refused($0) }
        )
    }

    /// A random UUID (RFC 9562 §5.4), in upper case as the service writes its own [field].
    private mutating func newID() -> String {
        let (high, low) = (random.next(), random.next())
        return NotificationID(high: high & ~0xF000 | 0x4000, low: low & ~(0b11 << 62) | 0b10 << 62)
            .text(isUpperCase: true)
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
