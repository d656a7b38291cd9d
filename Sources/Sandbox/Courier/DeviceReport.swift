import APNsProtocol
import FoundationEssentials

/// A report of a device client to the person who runs it.
public enum DeviceReport: Sendable, Equatable {
    /// The app of a topic has this token now.
    case token(topic: String, token: [UInt8])
    /// The app of a topic is uninstalled.
    case unregistered(topic: String)
    /// A notification arrived.
    case notification(DeviceNotification)

    /// One line: `{"topic":…,"token":…}`, with `"unregistered":true` instead of the token, or with the fields of a
    /// notification: `priority`, `expiration` (left out of one that was not to be stored), `received` and `payload`, a
    /// string; a payload that is not UTF-8 stands in `payloadBase64`. Times are as in `2013-04-23T09:30:00.250Z`.
    public var json: String {
        var line = Line()
        switch self {
        case .token(let topic, let token):
            line.topic = topic
            line.token = Hex.encode(token)
        case .unregistered(let topic):
            line.topic = topic
            line.unregistered = true
        case .notification(let notification):
            line.topic = notification.topic
            line.token = Hex.encode(notification.token)
            line.priority = notification.priority
            if notification.expiration > 0 { line.expiration = UTCText.text(unixSeconds: notification.expiration) }
            line.received = UTCText.text(unixMilliseconds: notification.receivedMilliseconds)
            line.payload = notification.text
            if line.payload == nil { line.payloadBase64 = Data(notification.payload).base64EncodedString() }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(line), as: UTF8.self)
        } catch {
            preconditionFailure("strings and integers can be encoded: \(error)")
        }
    }

    /// One line for people.
    public var text: String {
        switch self {
        case .token(let topic, let token):
            "\(topic)  token  \(Hex.encode(token))"
        case .unregistered(let topic):
            "\(topic)  unregistered"
        case .notification(let notification):
            "\(notification.topic)  priority \(notification.priority)  "
                + (notification.text ?? Hex.encode(notification.payload))
        }
    }

    /// In the order of the alphabet, as it is written.
    private struct Line: Encodable {
        var expiration: String?
        var payload: String?
        var payloadBase64: String?
        var priority: UInt8?
        var received: String?
        var token: String?
        var topic = ""
        var unregistered: Bool?
    }
}

/// A notification as the device got it.
public struct DeviceNotification: Sendable, Equatable {
    /// The bundle ID.
    public let topic: String
    /// The app's token.
    public let token: [UInt8]
    /// UNIX seconds; 0 = was not to be stored.
    public let expiration: UInt32
    /// 5 or 10 [13].
    public let priority: UInt8
    /// As the provider sent it; not always JSON.
    public let payload: [UInt8]
    /// UNIX milliseconds.
    public let receivedMilliseconds: Int64

    /// The payload, if it is UTF-8.
    var text: String? { String(validating: payload, as: UTF8.self) }
}
