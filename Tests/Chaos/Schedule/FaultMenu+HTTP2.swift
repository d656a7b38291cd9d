extension FaultMenu {
    /// Of the provider API.
    ///
    /// Those that keep the service from reading end well within ``requestTimeoutSeconds``: a request that lies unread
    /// until it is given up would be accepted behind newer ones. Those that keep it from answering may last: nothing is
    /// concluded from silence.
    static let http2 = [
        // Answers that come late, in another order, or not at all.
        ChaosFault("answer-delay", #""milliseconds":50"#),
        ChaosFault("answer-delay", #""milliseconds":800"#),
        ChaosFault("answer-delay", #""milliseconds":5000"#),
        ChaosFault("answer-shuffle", #""milliseconds":400"#),
        ChaosFault("mute-after", #""count":1500"#),
        ChaosFault("silence-after", #""count":2000"#),
        // Connections that end, or take no more.
        ChaosFault("close-after", #""count":1500"#),
        ChaosFault("reset-after", #""count":1300"#),
        ChaosFault("shutdown-after", #""count":1000"#),
        ChaosFault("goaway-after", #""count":1200,"reason":"InternalServerError","code":"INTERNAL_ERROR""#),
        // Streams that end, and too few of them.
        ChaosFault("stream-reset", #""every":300"#),
        ChaosFault("stream-reset", #""code":"INTERNAL_ERROR","every":900"#),
        ChaosFault("stream-limit", #""count":1"#),
        // Bodies that come slowly, or not.
        ChaosFault("window-size", #""bytes":1000"#),
        ChaosFault("window-stall"),
        ChaosFault("stall-after", #""count":1000,"milliseconds":700"#),
        ChaosFault("round-trip", #""milliseconds":100"#),
        // Errors: of the service, some and all; of the token, for now and for good; of the request.
        ChaosFault("request-error", #""reason":"InternalServerError","probability":0.3"#),
        ChaosFault("request-error", #""reason":"ServiceUnavailable""#),
        ChaosFault("request-error", #""reason":"Shutdown","every":900"#),
        ChaosFault("request-error", #""reason":"TooManyRequests","every":700"#),
        ChaosFault("request-error", #""reason":"BadDeviceToken","every":900"#),
        ChaosFault("request-error", #""reason":"Unregistered","every":900"#),
        ChaosFault("request-error", #""reason":"PayloadTooLarge","every":900"#),
        // Doors that are shut, and provider tokens that have expired.
        ChaosFault("refuse-connects"),
        ChaosFault("refuse-handshakes"),
        ChaosFault("refuse-certificates"),
        ChaosFault("token-clock", #""seconds":7200"#),
        ChaosFault("connection-limit", #""count":4"#),
        ChaosFault("connect-rate-limit", #""perMinute":12"#),
        ChaosFault("feedback-cut", #""bytes":57"#),
    ]

    /// Statuses of the errors that end a good notification, as the sandbox's statistics begin to name them. After all
    /// others it goes again, before what is newer of its token.
    static let finalStatuses = ["400 ", "410 ", "413 "]
}
