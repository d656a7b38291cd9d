import APNsProtocol
import FoundationEssentials
import HTTP2Transport
import NIOCore
import PageParts
import SeededNumbers

/// A request about channels, a broadcast among them, on its way through the service.
///
/// A class, so that the many requests about devices carry no more than a pointer for it.
final class ChannelRequest {
    /// The content of a request in order.
    enum Order: Equatable {
        case broadcast(channel: String, expiration: UInt32, priority: ProviderPriority)
        case create(storesMessages: Bool)
        case read(channel: String)
        case delete(channel: String)
        case list
    }

    /// Nil: it was refused at once.
    let order: Order?
    /// The value of `apns-request-id` in the answer: as it came, or new.
    let id: String
    /// The value of `apns-unique-id` in the answer to a broadcast.
    private let uniqueID: String?
    private var random: SeededGenerator
    /// The answer to a request that was carried out.
    private var answer = Answer(status: 200)

    private struct Answer {
        var status: Int
        var channel: String?
        var body = ByteBuffer()
    }

    /// - Parameters:
    ///   - uniqueID: nil: in production [later].
    ///   - random: for the id of a new channel.
    init(_ order: Order?, id: String, uniqueID: String?, random: SeededGenerator) {
        self.order = order
        self.id = id
        self.uniqueID = uniqueID
        self.random = random
    }

    /// Carries out a request in order.
    ///
    /// - Returns: the refusal; nil: accepted.
    func carryOut(
        on ledger: inout DeviceLedger,
        payload: UnsafeRawBufferPointer,
        now: UInt32
    ) -> RequestRefusal? {
        switch order {
        case .broadcast(let channel, let expiration, let priority):
            let notification = RoutedNotification(
                expiration: expiration,
                priority: priority,
                payload: payload,
                pushType: .liveactivity
            )
            return ledger.broadcast(notification, to: channel, now: now)
        case .create(let storesMessages):
            guard let channel = ledger.channels.create(storesMessages: storesMessages, random: &random) else {
                return RequestRefusal(.cannotCreateChannelConfig)
            }
            answer = Answer(status: 201, channel: channel)
        case .read(let id):
            guard let channel = ledger.channels[id] else { return RequestRefusal(.channelNotRegistered) }
            let document = ChannelConfiguration(
                storagePolicy: channel.storesMessages ? 1 : 0,
                pushType: ChannelConfiguration.liveActivity
            )
            answer = Answer(status: 200, body: ByteBuffer(bytes: DocumentJSON.encode(document)))
        case .delete(let id):
            guard ledger.channels.delete(id) else { return RequestRefusal(.channelNotRegistered) }
            answer = Answer(status: 204)
        case .list:
            let document = ["channels": ledger.channels.ids]
            answer = Answer(status: 200, body: ByteBuffer(bytes: DocumentJSON.encode(document)))
        case nil:
            break
        }
        return nil
    }

    /// Answers the request as it was decided.
    func respond(_ ruling: APIRuling?, to stream: HTTP2StreamID, on http: HTTP2ServerSession) {
        var fields = HTTP2Fields()
        fields.append("apns-request-id", id, indexing: .never)
        switch ruling {
        case .accepted:
            if let uniqueID { fields.append("apns-unique-id", uniqueID, indexing: .never) }
            if let channel = answer.channel { fields.append("apns-channel-id", channel, indexing: .never) }
            if answer.body.readableBytes > 0 { fields.append("content-type", "application/json") }
            http.respond(to: stream, status: answer.status, fields, body: answer.body)
        case .refused(let refusal):
            fields.append("content-type", "application/json")
            let body = ProviderErrorBody(reason: refusal.reason).json
            http.respond(to: stream, status: refusal.status, fields, body: ByteBuffer(bytes: body))
        case .reset(let code):
            http.reset(stream, code)
        case .ignored, nil:
            break
        }
    }
}

/// A channel's configuration, as the management of channels writes it [later].
struct ChannelConfiguration: Codable {
    /// 0: no message is stored; 1: the most recent one.
    let storagePolicy: Int
    /// Nil: not named.
    let pushType: String?

    /// The only push type that a channel can have.
    static let liveActivity = "LiveActivity"

    enum CodingKeys: String, CodingKey {
        case storagePolicy = "message-storage-policy"
        case pushType = "push-type"
    }
}
