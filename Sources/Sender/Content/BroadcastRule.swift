import APNsProtocol
import BelfrySupport
import PushSchemas
import PushTopics

/// The rules for a request to a channel, beside those for every request over HTTP/2. [later]
enum BroadcastRule {
    /// Judges a request.
    ///
    /// - Parameters:
    ///   - pushType: see ``ProviderFields/namedPushType(of:)``; nil over the binary interface.
    /// - Throws: `channel-unsupported`, `channel-invalid`, `push-type-invalid`, `broadcast-incomplete` or
    ///   `collapse-id-invalid`.
    static func check(
        _ request: SendRequestView,
        _ transport: EnvironmentSettings.Transport,
        _ pushType: PushType?
    ) throws(RecordRefusal) {
        guard transport == .http2 else {
            throw RecordRefusal(
                reason: "channel-unsupported",
                detail: "'channel' is set; the environment has the binary interface, which knows no channels"
            )
        }
        guard ChannelID.isValid(request.token(at: 0).bytes) else {
            throw RecordRefusal(
                reason: "channel-invalid",
                detail: "'channel' is no channel id; allowed: base64, 4 to \(ChannelID.limitBytes) characters"
            )
        }
        guard pushType == .liveactivity else {
            throw RecordRefusal(
                reason: "push-type-invalid",
                detail: "'push_type' is \(pushType?.rawValue ?? "not set"); allowed with 'channel': liveactivity"
            )
        }
        var missing: [String] = []
        if !request.hasExpiration { missing.append("'expiration'") }
        if request.priority == nil { missing.append("'priority'") }
        guard missing.isEmpty else {
            throw RecordRefusal(
                reason: "broadcast-incomplete",
                detail: "\(missing.joined(separator: " and ")) must be set with 'channel'"
            )
        }
        guard request.collapseID.isEmpty else {
            throw RecordRefusal(
                reason: "collapse-id-invalid",
                detail: "'collapse_id' is set beside 'channel'; a broadcast has none"
            )
        }
    }
}
