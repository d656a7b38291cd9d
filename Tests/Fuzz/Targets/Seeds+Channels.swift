/// Seeds of the provider API with provider tokens, and about channels.
extension Seeds {
    /// No certificate, behind preface and SETTINGS.
    private static let byToken: UInt8 = opened | 2
    private static let topic = "com.example.fuzz"
    private static let broadcasts = "/4/broadcasts/apps/com.example.fuzz"
    private static let channels = "/1/apps/com.example.fuzz/channels"

    /// The field with a stand-in for a valid token, see ``ProviderTokenStandIn``.
    private static let authorization: [UInt8] = {
        let mark = ProviderTokenStandIn.mark
        let padding = [UInt8](repeating: 0x30, count: ProviderTokenStandIn.token.count - mark.count)
        return HPACK.field("authorization", Array("bearer ".utf8) + mark + padding)
    }()

    private static func withToken(_ stream: UInt32, _ selector: UInt8, _ fields: [(String, String)] = []) -> [UInt8] {
        headers(stream, head(path(selector), [("apns-topic", topic)] + fields) + authorization) + data(stream)
    }

    /// A request about channels.
    private static func about(
        _ stream: UInt32,
        _ path: String,
        method: UInt8 = 0x83,
        _ fields: [(String, String)] = [],
        _ bytes: [UInt8] = body
    ) -> [UInt8] {
        headers(stream, head(Array(path.utf8), method: method, fields)) + data(stream, bytes)
    }

    private static func broadcast(_ stream: UInt32, to channel: String, expiration: String = "0") -> [UInt8] {
        about(
            stream,
            broadcasts,
            [
                ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-priority", "10"),
                ("apns-expiration", expiration),
            ]
        )
    }

    private static let configuration = Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8)

    static let channelSeeds = [
        seed("provider-token", settings: byToken, withToken(1, 0)),
        seed("provider-token-streams", settings: byToken, withToken(1, 0) + withToken(3, 1) + withToken(5, 2)),
        seed("provider-token-location", settings: byToken, withToken(1, 0, [("apns-push-type", "location")])),
        seed("provider-token-of-a-certificate", settings: opened, withToken(1, 0)),
        seed("broadcast", settings: opened, broadcast(1, to: APIFuzz.channels[0])),
        seed("broadcast-stored", settings: opened, broadcast(1, to: APIFuzz.channels[1], expiration: "2000000")),
        seed("broadcast-not-stored", settings: opened, broadcast(1, to: APIFuzz.channels[0], expiration: "2000000")),
        seed("broadcast-unknown", settings: opened, broadcast(1, to: "AAAA") + broadcast(3, to: "A")),
        seed("broadcast-bare", settings: opened, about(1, broadcasts)),
        seed(
            "broadcast-by-token",
            settings: byToken,
            headers(1, head(Array(broadcasts.utf8), [("apns-channel-id", APIFuzz.channels[0])]) + authorization)
                + data(1)
        ),
        seed("channel-created", settings: opened, about(1, channels, [], configuration)),
        seed(
            "channel-misconfigured",
            settings: opened,
            about(1, channels, [], Array("{}".utf8)) + about(3, channels, [], [])
        ),
        seed(
            "channel-read",
            settings: opened,
            about(1, channels, method: 0x82, [("apns-channel-id", APIFuzz.channels[1])], [])
        ),
        seed(
            "channel-deleted",
            settings: opened,
            headers(
                1,
                HPACK.field(":method", Array("DELETE".utf8)) + [0x87]
                    + HPACK.field(":path", Array(channels.utf8))
                    + HPACK.field("apns-channel-id", Array(APIFuzz.channels[0].utf8)),
                flags: endsHeaders | endsStream
            ) + broadcast(3, to: APIFuzz.channels[0])
        ),
        seed(
            "channels-listed",
            settings: opened,
            about(1, "/1/apps/com.example.fuzz/all-channels", method: 0x82, [], [])
        ),
        seed("channels-of-others", settings: opened, about(1, "/1/apps/a/channels", [], configuration)),
    ]
}
