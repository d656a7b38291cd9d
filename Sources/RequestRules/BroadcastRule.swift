import APNsProtocol
import PushSchemas

/// The rules for a request to a channel, beside those for every request over HTTP/2. [later]
enum BroadcastRule {
    /// Judges a request.
    ///
    /// - Parameters:
    ///   - pushType: see ``APNsProtocol/PushType/named(by:)``; nil over the binary interface.
    /// - Throws: `channel-unsupported`, `channel-invalid`, `push-type-invalid`, `broadcast-incomplete` or
    ///   `collapse-id-invalid`.
    static func check(
        _ request: SendRequestView,
        _ transport: APNsTransport,
        _ pushType: PushType?
    ) throws(RecordRefusal) {
        guard transport == .http2 else {
            throw RecordRefusal(
                reason: "channel-unsupported",
                detail: "'channel' is set; the environment has the binary interface, which knows no channels"
            )
        }
        let channel = request.token(at: 0).bytes
        guard ChannelID.isValid(channel) else {
            let found = printable(String(decoding: channel, as: UTF8.self))
            throw RecordRefusal(
                reason: "channel-invalid",
                detail: "'channel' is '\(found)', no channel id; allowed: base64, "
                    + "4 to \(ChannelID.limitBytes) characters"
            )
        }
        guard pushType == .liveactivity else {
            throw RecordRefusal(
                reason: "push-type-invalid",
                detail: "'push_type' is \(pushType?.rawValue ?? "not set"); allowed with 'channel': liveactivity"
            )
        }
        var missing: [String] = []
        if request.expiration == nil { missing.append("'expiration'") }
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
