extension Seeds {
    private static func frame(_ type: UInt8, _ data: [UInt8]) -> [UInt8] {
        [type] + sized(data)
    }

    private static func text(_ text: String) -> [UInt8] {
        Array(text.utf8)
    }

    /// A stand-in for a token of topic `a`, see ``TokenStandIns``.
    private static func token(_ selector: UInt8) -> [UInt8] {
        TokenStandIns.mark + [selector] + [UInt8](repeating: 0, count: 27)
    }

    private static func counted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count)] + bytes
    }

    private static let notification = frame(
        0x83,
        counted(text("a")) + counted(token(3)) + [0x7F, 0, 0, 0, 10] + text(#"{"aps":{}}"#)
    )

    static let courier = [
        seed("empty", []),
        seed("register", frame(1, text("a")) + frame(1, text("com.example.fuzz"))),
        seed("present", chunks: [1], frame(2, token(3))),
        seed("present-foreign", frame(2, token(2)) + frame(1, text("a"))),
        seed("present-unknown-device", frame(2, token(64))),
        seed("present-nonsense", frame(2, [1, 2, 3])),
        seed("present-outdated", frame(5, text("a")) + frame(2, token(3)) + frame(2, token(11))),
        seed("unregister", frame(1, text("a")) + frame(3, text("a")) + frame(2, token(3)) + frame(1, text("a"))),
        seed("restore", frame(2, token(3)) + frame(4, text("a")) + frame(4, text("a"))),
        seed("wipe", frame(5, text("a")) + frame(5, text("com.example.fuzz"))),
        seed(
            "notified",
            settings: 1,
            chunks: [35, 20],
            frame(2, token(3)) + frame(1, text("a")) + frame(4, text("a"))
        ),
        seed("unknown-topic", frame(1, text("b")) + frame(1, text("a"))),
        seed("unknown-type", frame(9, []) + frame(1, text("a"))),
        seed("service-type", frame(0x81, counted(text("a")) + token(3)) + frame(0x82, text("a"))),
        seed(
            "messages",
            chunks: [2, 9],
            notification + frame(0x84, [2] + text("no")) + frame(0x85, text("a")) + notification
        ),
        seed("no-utf-8", frame(1, [0xC3, 0x28])),
        seed("empty-topic", frame(1, [])),
        seed("long-topic", frame(1, [UInt8](repeating: 0x61, count: 256))),
        seed("longest-announced", chunks: [3], [1, 0x1F, 0xFD, 1, 2, 3]),
        seed("too-long-announced", [1, 0x20, 0, 1, 2, 3]),
        seed("cut", chunks: [5], Array(frame(2, token(3)).dropLast())),
        seed("many", (0..<40).flatMap { _ in frame(3, text("a")) }),
    ]
}
