extension Seeds {
    /// `:status` 200, 400 and 103, from the static table or with its name.
    private static let accepted: [UInt8] = [0x88]
    private static let refused: [UInt8] = [0x8C]
    private static let hint: [UInt8] = [0x08, 3, 0x31, 0x30, 0x33]
    /// 410, which has no place in that table.
    private static let gone: [UInt8] = [0x08, 3, 0x34, 0x31, 0x30]

    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        HTTP2Frames.frame(type, flags, stream: stream, payload)
    }

    private static func settings(_ entries: (UInt8, UInt32)...) -> [UInt8] {
        let payload = entries.flatMap { entry -> [UInt8] in
            [0, entry.0] + withUnsafeBytes(of: entry.1.bigEndian) { Array($0) }
        }
        return frame(4, 0, 0, payload)
    }

    private static func answer(_ stream: UInt32, _ block: [UInt8] = accepted) -> [UInt8] {
        frame(1, endsHeaders | endsStream, stream, block)
    }

    private static func refusal(_ stream: UInt32, _ body: String, status: [UInt8] = refused) -> [UInt8] {
        frame(1, endsHeaders, stream, status) + frame(0, endsStream, stream, Array(body.utf8))
    }

    private static func reset(_ stream: UInt32, _ code: UInt8) -> [UInt8] {
        frame(3, 0, stream, [0, 0, 0, code])
    }

    private static func goAway(last: UInt8, code: UInt8 = 0, _ debugData: String = "") -> [UInt8] {
        frame(7, 0, 0, [0, 0, 0, last, 0, 0, 0, code] + Array(debugData.utf8))
    }

    private static let first = settings((3, 100))
    private static let ping = frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
    private static let answers = (0..<4).flatMap { answer(UInt32(2 * $0 + 1)) }

    static let client = [
        seed("empty", []),
        seed("settings", chunks: [4], first),
        seed("answer", first + answer(1)),
        seed("answers", settings: 0x81, chunks: [20, 9], first + answers),
        seed("out-of-order", settings: 0x81, first + answer(7) + answer(3) + answer(1) + answer(5)),
        seed("refusal", first + refusal(1, #"{"reason":"BadDeviceToken"}"#)),
        seed("gone", first + refusal(1, #"{"reason":"Unregistered","timestamp":1700000000000}"#)),
        seed("gone-since", first + refusal(1, #"{"timestamp":1700000000000,"reason":"ExpiredToken"}"#, status: gone)),
        seed("gone-since-ever", first + refusal(1, #"{"reason":"Unregistered","timestamp":-1e400}"#, status: gone)),
        seed("refusal-escaped", first + refusal(1, #"{"reason":"Bad\u0054opic","x":[{"y":null},-0.5e3,"\uD83D\n"]}"#)),
        seed("refusal-twice", first + refusal(1, #"{"reason":"BadTopic","reason":"Unregistered"}"#)),
        seed("refusal-nested", first + refusal(1, #"{"x":"# + String(repeating: "[", count: 200))),
        seed("refusal-long", first + refusal(1, #"{"reason":""# + String(repeating: "a", count: 101) + #""}"#)),
        seed("refusal-empty", first + refusal(1, "") + answer(3, refused)),
        seed(
            "refusal-in-parts",
            chunks: [50, 7],
            first + frame(1, endsHeaders, 1, refused) + frame(0, 0, 1, Array(#"{"reason":"#.utf8))
                + frame(0, endsStream, 1, Array(#""BadTopic"}"#.utf8))
        ),
        seed("no-json", first + refusal(1, #"{"reason":"#) + refusal(3, "\u{0}")),
        seed("next-requests", settings: 8, chunks: [15, 10], first + answers),
        seed(
            "one-stream",
            settings: 0x88,
            chunks: [15, 10],
            settings((3, 1)) + answer(1) + settings((3, 1000)) + answers
        ),
        seed("no-stream", settings: 8, chunks: [15], settings((3, 0)) + settings((3, 5)) + answer(1)),
        seed("refused-streams", settings: 0x81, first + reset(1, 7) + reset(3, 7) + answer(5) + reset(7, 2)),
        seed("reset-behind-answer", first + frame(1, endsHeaders, 1, accepted) + reset(1, 0)),
        seed("goaway", settings: 0x81, first + goAway(last: 3, #"{"reason":"Shutdown"}"#) + answer(1) + answer(3)),
        seed("goaway-twice", settings: 0x81, first + goAway(last: 7) + goAway(last: 1, code: 11, "calm") + answer(1)),
        seed("goaway-text", first + goAway(last: 1, "Maximum active streams violated for this endpoint.") + answer(1)),
        seed("goaway-no-text", first + frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0]) + answer(1)),
        seed(
            "goaway-reasons",
            first + goAway(last: 1, #"{"reason":"Idle\u0054imeout","timestamp":1,"x":{}}"#)
                + goAway(last: 1, #"{"reason":"Shutdown","reason":""}"#) + answer(1)
        ),
        seed("goaway-long", first + goAway(last: 1, #"{"reason":""# + String(repeating: " ", count: 5000))),
        seed("goaway-growing", settings: 0x81, first + goAway(last: 1) + goAway(last: 7)),
        seed("bad-environment", goAway(last: 0, #"{"reason":"BadCertificateEnvironment"}"#)),
        seed("hint", first + frame(1, endsHeaders, 1, hint) + answer(1)),
        seed("hint-at-the-end", first + answer(1, hint)),
        seed("trailers", first + frame(1, endsHeaders, 1, accepted) + answer(1, HPACK.field("a", [0x62]))),
        seed("two-statuses", first + answer(1, accepted + refused)),
        seed("no-status", first + answer(1, HPACK.field("a", [0x62]))),
        seed(
            "large-body",
            first + frame(1, endsHeaders, 1, accepted) + frame(0, endsStream, 1, [UInt8](repeating: 1, count: 3000))
        ),
        seed(
            "stalled",
            settings: 4,
            chunks: [15],
            first + frame(8, 0, 0, [0, 1, 0, 0]) + frame(8, 0, 1, [0, 1, 0, 0])
        ),
        seed("small-windows", settings: 5, settings((4, 1)) + frame(8, 0, 1, [0, 0, 0, 1]) + settings((4, 65_535))),
        seed("window-overflow", settings: 4, first + frame(8, 0, 0, [0x7F, 0xFF, 0xFF, 0xFF])),
        seed("frame-sizes", settings: 4, settings((5, 16_777_215)) + frame(8, 0, 0, [0, 1, 0, 0])),
        seed("table-size", settings: 8, chunks: [15], settings((1, 0)) + settings((1, 4096)) + answers),
        seed("given-up", settings: 0xA1, chunks: [15], first + answers),
        seed("goodbye", settings: 0xC1, chunks: [15], first + answers),
        seed(
            "pings",
            settings: 16,
            chunks: [17],
            first + (0..<20).flatMap { _ in ping } + frame(6, 1, 0, [0, 0, 0, 0, 0, 0, 0, 0])
        ),
        seed("push", first + frame(5, endsHeaders, 1, [0, 0, 0, 2] + accepted) + answer(1)),
        seed("unknown-stream", first + answer(9) + answer(2)),
        seed("data-first", first + frame(0, endsStream, 1, [1])),
        seed("continuation", first + frame(1, endsStream, 1, []) + frame(9, endsHeaders, 1, accepted)),
        seed("bad-compression", first + answer(1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        seed("http-1", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
        seed("unknown-frame", first + frame(99, 0, 0, [1]) + answer(1)),
        seed("too-large-frame", [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
        seed("cut", chunks: [3], Array((first + refusal(1, #"{"reason":"BadTopic"}"#)).dropLast())),
    ]
}
