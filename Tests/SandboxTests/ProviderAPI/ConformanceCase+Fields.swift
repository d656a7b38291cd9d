import HTTP2Transport

@testable import Sandbox

// MARK: Fields

extension ConformanceCase {
    static let fields = malformed + accepted + bodies

    private static func pseudo(_ fields: (name: String, value: String)...) -> [UInt8] {
        fields.flatMap { Wire.field($0.name, $0.value) }
    }

    private static let authority = pseudo((":authority", "localhost"))

    /// Each costs its stream only (§8.1.1).
    private static let malformed = [
        ("§8.2.1", "a name in upper case", Wire.block(Wire.field("Apns-Id", "1"))),
        ("§8.2.1", "an empty name", Wire.block(Wire.field("", "1"))),
        ("§8.2.1", "a space in a name", Wire.block(Wire.field("a b", "1"))),
        ("§8.2.1", "a colon in a name", Wire.block(Wire.field("a:b", "1"))),
        ("§8.2.1", "a line feed in a value", Wire.block(Wire.field("a", "1\n2"))),
        ("§8.2.1", "a NUL in a value", Wire.block(Wire.field("a", "1\0"))),
        ("§8.2.1", "a space before a value", Wire.block(Wire.field("a", " 1"))),
        ("§8.2.1", "a tab behind a value", Wire.block(Wire.field("a", "1\t"))),
        ("§8.2.2", "connection", Wire.block(Wire.field("connection", "keep-alive"))),
        ("§8.2.2", "keep-alive", Wire.block(Wire.field("keep-alive", "1"))),
        ("§8.2.2", "proxy-connection", Wire.block(Wire.field("proxy-connection", "keep-alive"))),
        ("§8.2.2", "transfer-encoding", Wire.block(Wire.field("transfer-encoding", "chunked"))),
        ("§8.2.2", "upgrade", Wire.block(Wire.field("upgrade", "h2c"))),
        ("§8.2.2", "te with anything but trailers", Wire.block(Wire.field("te", "gzip"))),
        ("§8.3", "a pseudo-header behind others", [0x83, 0x87] + authority + pseudo(("a", "1"), (":path", Wire.path))),
        ("§8.3", "an unknown pseudo-header", Wire.block(Wire.field(":nobody", "1"))),
        ("§8.3", "a pseudo-header of answers", Wire.block(Wire.field(":status", "200"))),
        ("§8.3.1", "no :method", [0x87] + authority + pseudo((":path", Wire.path))),
        ("§8.3.1", "no :scheme", [0x83] + authority + pseudo((":path", Wire.path))),
        ("§8.3.1", "no :path", [0x83, 0x87] + authority),
        ("§8.3.1", "neither :authority nor host", [0x83, 0x87] + pseudo((":path", Wire.path))),
        ("§8.3.1", "an empty :path", [0x83, 0x87] + authority + pseudo((":path", ""))),
        ("§8.3.1", "a :path without a slash", [0x83, 0x87] + authority + pseudo((":path", "3/device/00"))),
        ("§8.3.1", ":method twice", [0x83] + Wire.block()),
        ("§8.3.1", ":scheme twice", [0x87] + Wire.block()),
        ("§8.3.1", ":path twice", Wire.block(Wire.field(":path", Wire.path))),
        ("§8.3.1", ":authority twice", Wire.block(Wire.field(":authority", "localhost"))),
        ("§8.5", "CONNECT with a path", pseudo((":method", "CONNECT")) + Wire.block().dropFirst()),
    ].map { ConformanceCase($0.0, $0.1, Wire.headers(1, $0.2, flags: Wire.whole), .reset(1, .protocolError)) }

    private static let accepted = [
        ("§8.2.2", "te: trailers", Wire.block(Wire.field("te", "trailers"))),
        ("§8.3.1", "host for :authority", [0x83, 0x87] + pseudo((":path", Wire.path), ("host", "localhost"))),
        ("RFC 7541 §6.3", "a smaller table", [0x20] + Wire.block()),
    ].map { ConformanceCase($0.0, $0.1, Wire.headers(1, $0.2) + Wire.data(1), .answer(1, 200)) }

    private static let length = "\(Wire.body.count)"
    private static let short = "\(Wire.body.count - 1)"
    private static let long = "\(Wire.body.count + 1)"

    private static let bodies = [
        ConformanceCase(
            "§8.1.1",
            "content-length of the body",
            Wire.headers(1, Wire.block(Wire.field("content-length", length))) + Wire.data(1),
            .answer(1, 200)
        ),
        ConformanceCase(
            "§8.1.1",
            "content-length of less than the body",
            Wire.headers(1, Wire.block(Wire.field("content-length", short))) + Wire.data(1),
            .reset(1, .protocolError)
        ),
        ConformanceCase(
            "§8.1.1",
            "content-length of more than the body",
            Wire.headers(1, Wire.block(Wire.field("content-length", long))) + Wire.data(1),
            .reset(1, .protocolError)
        ),
        ConformanceCase(
            "§8.1.1",
            "content-length of a body that does not come",
            Wire.headers(1, Wire.block(Wire.field("content-length", length)), flags: Wire.whole),
            .reset(1, .protocolError)
        ),
        ConformanceCase(
            "§8.1.1",
            "content-length twice",
            Wire.headers(
                1,
                Wire.block(Wire.field("content-length", length), Wire.field("content-length", length)),
                flags: Wire.endHeaders
            ),
            .reset(1, .protocolError)
        ),
        ConformanceCase(
            "§8.1",
            "trailers",
            Wire.headers(1) + Wire.data(1, flags: 0) + Wire.headers(1, Wire.field("a", "1"), flags: Wire.whole),
            .answer(1, 200)
        ),
        ConformanceCase(
            "§8.1",
            "trailers without the end",
            Wire.headers(1) + Wire.data(1, flags: 0) + Wire.headers(1, Wire.field("a", "1")),
            .reset(1, .protocolError)
        ),
        ConformanceCase(
            "§8.1",
            "pseudo-headers in trailers",
            Wire.headers(1) + Wire.data(1, flags: 0) + Wire.headers(1, [0x83], flags: Wire.whole),
            .reset(1, .protocolError)
        ),
    ]
}

// MARK: The connection and its windows

extension ConformanceCase {
    static let connection = [
        ConformanceCase("§6.5", "SETTINGS on a stream", Wire.frame(4, stream: 1), .end(.protocolError)),
        ConformanceCase("§6.5", "SETTINGS of 5 bytes", Wire.frame(4, [0, 4, 0, 0, 0]), .end(.frameSizeError)),
        ConformanceCase(
            "§6.5",
            "an answer to SETTINGS with values",
            Wire.frame(4, flags: 1, [0, 4, 0, 0, 0, 9]),
            .end(.frameSizeError)
        ),
        ConformanceCase("§6.5.2", "ENABLE_PUSH of 2", Wire.settings((2, 2)), .end(.protocolError)),
        ConformanceCase(
            "§6.5.2",
            "INITIAL_WINDOW_SIZE of 2³¹",
            Wire.settings((4, 0x8000_0000)),
            .end(.flowControlError)
        ),
        ConformanceCase("§6.5.2", "MAX_FRAME_SIZE of 2¹⁴ - 1", Wire.settings((5, 16_383)), .end(.protocolError)),
        ConformanceCase("§6.5.2", "MAX_FRAME_SIZE of 2²⁴", Wire.settings((5, 1 << 24)), .end(.protocolError)),
        ConformanceCase(
            "§6.5.2",
            "an unknown setting",
            Wire.settings((0xFF, 1)),
            WireOutcome(settingsAnswers: 1)
        ),
        ConformanceCase(
            "§6.5.3",
            "a setting twice in a frame: the later counts",
            Wire.settings((5, 16_384), (5, 16_385)),
            WireOutcome(settingsAnswers: 1)
        ),
        ConformanceCase("RFC 9218 §2.1", "NO_RFC7540_PRIORITIES of 2", Wire.settings((9, 2)), .end(.protocolError)),
        ConformanceCase("§6.7", "PING", Wire.ping(), WireOutcome(pongs: 1)),
        ConformanceCase("§6.7", "an answer to no PING", Wire.ping(flags: 1), .ignored),
        ConformanceCase(
            "§6.7",
            "PING on a stream",
            Wire.frame(6, stream: 1, Wire.big(0) + Wire.big(0)),
            .end(.protocolError)
        ),
        ConformanceCase("§6.7", "PING of 7 bytes", Wire.frame(6, [1, 2, 3, 4, 5, 6, 7]), .end(.frameSizeError)),
        ConformanceCase(
            "§6.8",
            "GOAWAY on a stream",
            Wire.frame(7, stream: 1, Wire.big(0) + Wire.big(0)),
            .end(.protocolError)
        ),
        ConformanceCase("§6.8", "GOAWAY of 7 bytes", Wire.frame(7, [0, 0, 0, 0, 0, 0, 0]), .end(.frameSizeError)),
    ]

    private static let mostWindow: UInt32 = 0x7FFF_FFFF

    static let windows = [
        ConformanceCase("§6.9", "WINDOW_UPDATE of 3 bytes", Wire.frame(8, [0, 0, 1]), .end(.frameSizeError)),
        ConformanceCase("§6.9", "no window for the connection", Wire.window(0, 0), .end(.protocolError)),
        ConformanceCase("§6.9", "no window for a stream", Wire.headers(1) + Wire.window(1, 0), .end(.protocolError)),
        ConformanceCase("§6.9.1", "a window too large", Wire.window(0, mostWindow), .end(.flowControlError)),
        ConformanceCase(
            "§6.9.1",
            "a window of a stream too large",
            Wire.headers(1) + Wire.window(1, mostWindow),
            .reset(1, .flowControlError)
        ),
        ConformanceCase(
            "§6.9.1",
            "more DATA than the windows allow",
            fault: .windowStall,
            Wire.headers(1) + (0..<5).flatMap { _ in Wire.data(1, [UInt8](repeating: 0x20, count: 16_384), flags: 0) },
            .end(.flowControlError)
        ),
    ]
}
