extension Seeds {
    private static let payload = Array(#"{"aps":{"alert":"hi"},"n":1}"#.utf8)

    /// A stand-in as long as the token it stands for, see ``TokenStandIns``.
    private static func token(_ selector: UInt8) -> [UInt8] {
        let lengths = [32, 64, 100, 33]
        let padding = [UInt8](repeating: 0, count: lengths[Int(selector >> 4 & 3)] - TokenStandIns.mark.count - 1)
        return TokenStandIns.mark + [selector] + padding
    }

    private static func item(_ number: UInt8, _ data: [UInt8]) -> [UInt8] {
        [number] + sized(data)
    }

    private static func frame(_ items: [UInt8]...) -> [UInt8] {
        let body = items.flatMap { $0 }
        return [2, 0, 0] + sized(body)
    }

    private static func command2(
        _ identifier: UInt8,
        _ token: [UInt8],
        payload: [UInt8] = payload,
        expiration: [UInt8] = [0x7F, 0, 0, 0],
        priority: UInt8 = 10
    ) -> [UInt8] {
        frame(
            item(3, [0, 0, 0, identifier]),
            item(1, token),
            item(2, payload),
            item(4, expiration),
            item(5, [priority])
        )
    }

    private static func command1(_ identifier: UInt8, _ token: [UInt8]) -> [UInt8] {
        [1, 0, 0, 0, identifier, 0x7F, 0, 0, 0] + sized(token) + sized(payload)
    }

    private static func command0(_ token: [UInt8]) -> [UInt8] {
        [0] + sized(token) + sized(payload)
    }

    private static let every = (0..<8).flatMap { command2($0 + 1, token($0)) }

    static let gateway = [
        seed("empty", []),
        seed("command-0", command0(token(0)) + command0(token(1))),
        seed("command-1", command1(1, token(0)) + command1(2, token(1))),
        seed("command-2", every),
        seed("mixed", chunks: [1, 50, 0], command2(1, token(0)) + command1(2, token(1)) + command0(token(2)) + every),
        seed("coalesced", command2(1, token(1)) + command2(2, token(1)) + command1(3, token(1)) + command0(token(1))),
        seed(
            "expired",
            command2(1, token(1), expiration: [0, 0, 0, 1]) + command2(2, token(1), expiration: [0, 0, 0, 0])
        ),
        seed("feedback", command2(1, token(2)) + command2(2, token(5)) + command2(3, token(2))),
        seed("priority-5", command2(1, token(0), priority: 5) + command2(2, token(0))),
        seed("background", command2(1, token(0), payload: Array(#"{"aps":{"content-available":1}}"#.utf8))),
        seed(
            "no-json",
            command2(1, token(0), payload: Array(#"{"aps":{"n":["#.utf8)) + command2(2, token(1), payload: [0xFF])
        ),
        seed("marks", command2(1, token(0), payload: Array(#"{"n":"a\"b","aps":{}}"#.utf8)) + every),
        seed("sentinel", every + frame(item(3, [0, 0, 0, 9]), item(1, [])) + every),
        seed("wrong-generation", command2(1, token(8)) + every),
        seed("wrong-device", command2(1, token(64)) + every),
        seed("damaged-token", command2(1, [UInt8](repeating: 7, count: 32)) + every),
        seed("short-token", command1(1, Array(token(0).prefix(31))) + every),
        seed(
            "long-tokens",
            settings: 2,
            chunks: [90],
            command2(1, token(16)) + command1(2, token(32)) + command0(token(48))
        ),
        seed("long-token-refused", command2(1, token(32)) + every),
        seed(
            "payload-2048",
            settings: 1,
            command2(1, token(0), payload: [UInt8](repeating: 0x20, count: 2048)) + every
        ),
        seed("payload-257", settings: 4, command2(1, token(0), payload: [UInt8](repeating: 0x20, count: 257)) + every),
        seed("no-payload", command1(1, token(0)).dropLast(payload.count + 2) + [0, 0] + every),
        seed("duplicate-item", settings: 4, frame(item(3, [0, 0, 0, 1]), item(3, [0, 0, 0, 2]), item(1, token(0)))),
        seed("unknown-item", frame(item(6, [1]), item(1, token(0)), item(2, payload))),
        seed("overrun", [2, 0, 0, 0, 5, 1, 0, 32, 1, 2] + every),
        seed("unknown-command", every + [9] + every),
        seed("huge-frame", [2, 0xFF, 0xFF, 0xFF, 0xFF] + every),
        seed("largest-announced", chunks: [5], [2, 0, 0, 0xFF, 0xFB] + every),
        seed("huge-lengths", [1, 0, 0, 0, 1, 0, 0, 0, 0, 0xFF, 0xFF] + every),
        seed("cut", chunks: [3], Array(every.dropLast(7))),
        seed("shutdown", settings: 8, chunks: [0], every),
        seed("close", settings: 16, chunks: [30], every),
        seed("stall", settings: 32, chunks: [50], every),
        seed("stall-then-reset", settings: 96, every),
        seed("reset", settings: 64, chunks: [0], every),
        seed("sentinel-silence", settings: 128, every + frame(item(3, [0, 0, 0, 9]), item(1, [])) + every),
        seed("all-faults", settings: 0xFF, chunks: [9, 70], every + every),
        seed("shutdown-and-close", settings: 24, every + [9]),
    ]
}
