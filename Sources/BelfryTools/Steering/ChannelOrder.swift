import APNsProtocol
import BelfrySupport
import Foundation

/// An order to the management of an app's channels, as a request and by its answer. [later]
public enum ChannelOrder: Equatable, Sendable {
    /// - Parameter storesMessages: the service keeps the most recent message for devices that are offline.
    case create(storesMessages: Bool)
    case list
    case delete(channel: String)

    /// Throws `ToolError.invalidInput` for a channel id that is none.
    func checked() throws(ToolError) {
        guard case .delete(let channel) = self, !ChannelID.isValid(channel) else { return }
        throw .invalidInput([
            "channel: found \"\(channel)\"; allowed: base64, 4 to \(ChannelID.limitBytes) characters"
        ])
    }

    /// - Parameters:
    ///   - authority: `host:port`
    ///   - authorization: the value of the header; nil: the connection has a certificate.
    func message(bundleID: String, authority: String, authorization: String?) -> LoneRequest.Message {
        var message = LoneRequest.Message(
            method: "GET",
            authority: authority,
            path: BroadcastPath.channels(bundle: bundleID).text,
            headers: authorization.map { [("authorization", $0)] } ?? []
        )
        switch self {
        case .create(let storesMessages):
            message.method = "POST"
            message.body = Array(
                #"{"message-storage-policy":\#(storesMessages ? 1 : 0),"push-type":"LiveActivity"}"#.utf8
            )
        case .list:
            message.path = BroadcastPath.allChannels(bundle: bundleID).text
        case .delete(let channel):
            message.method = "DELETE"
            message.headers.append(("apns-channel-id", channel))
        }
        return message
    }

    /// Reads the answer.
    ///
    /// - Throws: `ToolError.notFound` for a channel that is not registered, `ToolError.refused` for another refusal.
    func report(_ answer: LoneRequest.Answer) throws(ToolError) -> ChannelReport {
        switch (self, answer.status) {
        case (.create, 200...201):
            guard let channel = answer.channel else { throw .refused("the service named no channel in its answer") }
            return ChannelReport(order: self, channels: [channel])
        case (.list, 200):
            struct List: Decodable { var channels: [String] }
            guard let list = try? JSONDecoder().decode(List.self, from: Data(answer.body)) else {
                throw .refused("the service's list of channels cannot be read")
            }
            return ChannelReport(order: self, channels: list.channels)
        case (.delete(let channel), 200...204):
            return ChannelReport(order: self, channels: [channel])
        default:
            throw Self.error(of: answer)
        }
    }

    private static func error(of answer: LoneRequest.Answer) -> ToolError {
        let reason = try? ProviderErrorBody(parsing: answer.body).reason
        let text = "the service answered \(answer.status) \(reason?.rawValue ?? "without a reason")"
        return reason == .channelNotRegistered ? .notFound(text) : .refused(text)
    }
}

/// The result of `belfry channels`.
public struct ChannelReport: Equatable, Sendable {
    /// The order that was carried out.
    public let order: ChannelOrder
    /// The channel that was created or deleted, or all there are.
    public let channels: [String]

    /// JSON objects, one for each channel.
    public var json: [String] {
        channels.map { channel in
            var line = JSONLine()
            line.append("channel", channel)
            return line.text
        }
    }

    /// The ids, so that a shell can use them as they are.
    public var text: [String] { channels }
}
