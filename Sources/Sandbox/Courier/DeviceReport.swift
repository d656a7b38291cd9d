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
    /// notification: `priority`, `expiration` (left out if it says none, or 0), `pushType` and `collapseID` (if it has
    /// them), `received` and `payload`, a string; a payload that is not UTF-8 stands in `payloadBase64`. Times are as
    /// in `2013-04-23T09:30:00.250Z`.
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
            if notification.expiration > 0, notification.expiration < .max {
                line.expiration = UTCText.text(unixSeconds: notification.expiration)
            }
            if !notification.pushType.isEmpty { line.pushType = notification.pushType }
            if !notification.collapseID.isEmpty {
                line.collapseID = String(decoding: notification.collapseID, as: UTF8.self)
            }
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
            "\(notification.topic)  priority \(notification.priority)  \(notification.labels)"
                + (notification.text ?? Hex.encode(notification.payload))
        }
    }

    /// In the order of the alphabet, as it is written.
    private struct Line: Encodable {
        var collapseID: String?
        var expiration: String?
        var payload: String?
        var payloadBase64: String?
        var priority: UInt8?
        var pushType: String?
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
    /// UNIX seconds; 0 = was not to be stored. `UInt32.max`: none was said.
    public let expiration: UInt32
    /// 10, 5 [13] or 1 [later].
    public let priority: UInt8
    /// Of the provider API; empty for one of the binary interface.
    public var pushType = ""
    /// Of the provider API; empty: none.
    public var collapseID: [UInt8] = []
    /// As the provider sent it; not always JSON.
    public let payload: [UInt8]
    /// UNIX milliseconds.
    public let receivedMilliseconds: Int64

    /// Push type and collapse id, for people, if there are any.
    fileprivate var labels: String {
        let collapse = collapseID.isEmpty ? "" : "collapse \(String(decoding: collapseID, as: UTF8.self))  "
        return pushType.isEmpty ? "" : "\(pushType)  \(collapse)"
    }

    /// The payload, if it is UTF-8.
    var text: String? { String(validating: payload, as: UTF8.self) }
}
