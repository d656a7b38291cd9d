extension Seeds {
    /// Preface and SETTINGS come first.
    static let opened: UInt8 = 1
    static let endsHeaders: UInt8 = 4
    static let endsStream: UInt8 = 1
    static let body = Array(#"{"aps":{"alert":"hi"},"n":1}"#.utf8)

    /// A path to a device, with a stand-in for its token, see ``TokenStandIns``.
    static func path(_ selector: UInt8) -> [UInt8] {
        let padding = [UInt8](repeating: 0x30, count: 64 - TokenStandIns.mark.count - 1)
        return Array("/3/device/".utf8) + TokenStandIns.mark + [selector] + padding
    }

    /// Fields of a request: `:method` POST or GET, `:scheme` https, `:authority` a, and `:path`.
    static func head(_ path: [UInt8], method: UInt8 = 0x83, _ fields: [(String, String)] = []) -> [UInt8] {
        let others = fields.flatMap { HPACK.field($0, Array($1.utf8)) }
        return [method, 0x87, 0x01, 1, 0x61, 0x04, UInt8(path.count)] + path + others
    }

    static func headers(_ stream: UInt32, _ block: [UInt8], flags: UInt8 = endsHeaders) -> [UInt8] {
        HTTP2Frames.frame(1, flags, stream: stream, block)
    }

    static func data(_ stream: UInt32, _ bytes: [UInt8] = body, flags: UInt8 = endsStream) -> [UInt8] {
        HTTP2Frames.frame(0, flags, stream: stream, bytes)
    }

    private static func request(_ stream: UInt32, _ selector: UInt8, _ fields: [(String, String)] = []) -> [UInt8] {
        headers(stream, head(path(selector), fields)) + data(stream)
    }

    private static let ping = HTTP2Frames.frame(6, 0, stream: 0, [1, 2, 3, 4, 5, 6, 7, 8])
    private static let every = (0..<5).flatMap { request(UInt32(2 * $0 + 1), UInt8($0)) }

    static let api = [
        seed("empty", []),
        seed(
            "preface",
            settings: 0,
            chunks: [3, 1, 30],
            HTTP2Frames.preface + HTTP2Frames.frame(4, 0, stream: 0, [])
        ),
        seed("http-1", settings: 4, Array("POST /3/device/00 HTTP/1.1\r\n\r\n".utf8)),
        seed("http-1-agreed", Array("GET / HTTP/1.1\r\n\r\n".utf8)),
        seed("prior-knowledge", settings: opened | 4, chunks: [2, 1, 100], request(1, 0)),
        seed("request", settings: opened, request(1, 0)),
        seed("states", settings: opened, chunks: [40, 200], every),
        seed(
            "no-certificate",
            settings: opened | 2,
            request(1, 0) + request(3, 0, [("authorization", "bearer a.b.c")])
        ),
        seed(
            "fields",
            settings: opened,
            request(
                1,
                0,
                [
                    ("apns-topic", "com.example.fuzz"), ("apns-push-type", "alert"), ("apns-priority", "5"),
                    ("apns-expiration", "0"), ("apns-id", "123e4567-e89b-42d3-a456-426614174000"),
                    ("apns-collapse-id", "c"),
                ]
            )
        ),
        seed(
            "wrong-fields",
            settings: opened,
            request(1, 0, [("apns-topic", "a")]) + request(3, 0, [("apns-push-type", "loud")])
                + request(5, 0, [("apns-priority", "7")]) + request(7, 0, [("apns-id", "1"), ("apns-id", "2")])
        ),
        seed("voip", settings: opened, request(1, 0, [("apns-topic", "com.example.fuzz.voip")])),
        seed("get", settings: opened, headers(1, head(path(0), method: 0x82), flags: endsHeaders | endsStream)),
        seed(
            "bad-paths",
            settings: opened,
            headers(1, head([0x2F])) + data(1) + headers(3, head(Array("/3/device/".utf8))) + data(3)
        ),
        seed("wrong-device", settings: opened, request(1, 64) + request(3, 8) + request(5, 0)),
        seed("empty-body", settings: opened, headers(1, head(path(0)), flags: endsHeaders | endsStream)),
        seed("continuation", settings: opened, continued),
        seed(
            "padded",
            settings: opened,
            headers(1, head(path(0))) + data(1, [3] + body + [0, 0, 0], flags: endsStream | 8)
        ),
        seed(
            "trailers",
            settings: opened,
            headers(1, head(path(0))) + data(1, flags: 0)
                + headers(1, HPACK.field("a", [0x62]), flags: endsHeaders | endsStream)
        ),
        seed(
            "body-in-parts",
            settings: opened,
            headers(1, head(path(0))) + body.flatMap { data(1, [$0], flags: 0) } + data(1, [])
        ),
        seed("reset", settings: opened, request(1, 0) + HTTP2Frames.frame(3, 0, stream: 1, [0, 0, 0, 8])),
        seed(
            "reset-between",
            settings: opened,
            headers(1, head(path(0))) + HTTP2Frames.frame(3, 0, stream: 1, [0, 0, 0, 8]) + data(1)
        ),
        seed("pings", settings: opened, chunks: [17], (0..<60).flatMap { _ in ping }),
        seed(
            "settings",
            settings: opened,
            HTTP2Frames.frame(4, 0, stream: 0, [0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]) + request(1, 0)
        ),
        seed(
            "windows",
            settings: opened,
            HTTP2Frames.frame(8, 0, stream: 0, [0x7F, 0xFF, 0xFF, 0xFF]) + request(1, 0)
        ),
        seed(
            "goaway",
            settings: opened,
            HTTP2Frames.frame(7, 0, stream: 0, [0, 0, 0, 0, 0, 0, 0, 0]) + request(1, 0)
        ),
        seed("unknown-frame", settings: opened, HTTP2Frames.frame(99, 0, stream: 0, [1]) + request(1, 0)),
        seed(
            "empty-data",
            settings: opened,
            headers(1, head(path(0))) + (0..<60).flatMap { _ in data(1, [], flags: 0) }
        ),
        seed("streams-backwards", settings: opened, request(5, 0) + request(3, 1)),
        seed("even-stream", settings: opened, request(2, 0)),
        seed("bad-compression", settings: opened, headers(1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        seed("table-size", settings: opened, headers(1, [0x3F, 0xE1, 0x1F] + head(path(0))) + data(1)),
        seed("cut", settings: opened, chunks: [9], Array(every.dropLast(7))),
        seed("request-error", settings: opened | 8, every),
        seed("stream-reset", settings: opened | 16, every),
        seed("goaway-after", settings: opened | 32, every + every),
        seed("stream-limit", settings: opened | 64, every),
        seed("answer-delay", settings: opened | 128, chunks: [100], every),
        seed("all-faults", settings: opened | 0xF8, chunks: [100], every),
    ]

    /// The fields of a request in three frames.
    private static var continued: [UInt8] {
        let block = head(path(0))
        return headers(1, Array(block[..<10]), flags: 0) + HTTP2Frames.frame(9, 0, stream: 1, Array(block[10..<30]))
            + HTTP2Frames.frame(9, endsHeaders, stream: 1, Array(block[30...])) + data(1)
    }
}

/// As much of the compression of fields (RFC 7541) as seeds need.
enum HPACK {
    /// A field that stays out of the table; name and value have up to 254 bytes.
    static func field(_ name: String, _ value: [UInt8]) -> [UInt8] {
        [0] + length(name.utf8.count) + Array(name.utf8) + length(value.count) + value
    }

    /// A number of seven bits, or with what is above them in a byte of its own (RFC 7541 §5.1).
    private static func length(_ bytes: Int) -> [UInt8] {
        bytes < 127 ? [UInt8(bytes)] : [127, UInt8(bytes - 127)]
    }
}
