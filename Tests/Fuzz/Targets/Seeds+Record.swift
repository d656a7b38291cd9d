/// Records that aim at a decoder or a renderer each.
extension Seeds {
    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        precondition(number < 16 && content.count < 128)
        return [number << 3 | 2, UInt8(content.count)] + content
    }

    /// The last bytes again and again: 2 to the power of so many times.
    private static func again(_ bytes: Int, doublings: UInt8) -> [UInt8] {
        [RecordFuzz.mark, UInt8(bytes), doublings]
    }

    private static func repeated(_ piece: [UInt8], doublings: UInt8) -> [UInt8] {
        piece + again(piece.count, doublings: doublings)
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static let token = [UInt8](repeating: 1, count: 32)
    private static let payload = field(3, text(#"{"aps":{"alert":"Hi"}}"#))
    /// Of a structured notification with a title.
    private static let titled = field(13, field(1, field(1, text("t"))))

    static let record = [
        seed("empty", []),
        seed("plain", payload + field(6, token)),
        seed("many-tokens", payload + repeated(field(5, field(1, token)), doublings: 12)),
        seed("empty-tokens", payload + repeated([0x2A, 0], doublings: 15)),
        seed("wrong-tokens", payload + repeated(field(5, field(1, [1])) + field(5, []), doublings: 12)),
        seed("shards", settings: 4, payload + repeated(field(5, field(1, token)), doublings: 10)),
        seed("packed", payload + field(6, token) + again(34, doublings: 10)),
        seed("payloads", field(6, token) + repeated(field(3, text("{}")), doublings: 15)),
        seed("notifications", field(6, token) + repeated(field(13, field(1, field(5, []))), doublings: 15)),
        seed("badges", titled + repeated(field(5, field(1, token) + [0x18, 5]), doublings: 12)),
        seed("arguments", settings: 2, titled + repeated(field(5, field(1, token) + field(5, [0x61])), doublings: 12)),
        seed("nested", field(6, token) + field(13, repeated(field(13, field(1, field(2, [0x20, 1]))), doublings: 3))),
        seed("groups", field(6, token) + repeated([0xA3, 6], doublings: 14) + repeated([0xA4, 6], doublings: 14)),
        seed("json", settings: 1, text(#"{"payloadJson":"{\"aps\":{}}","tokens":["00ff"]}"#)),
        seed(
            "json-tokens",
            settings: 1,
            text(#"{"payloadJson":"{}","tokens":["#) + repeated(text(#""00","#), doublings: 13)
        ),
        seed(
            "json-nested",
            settings: 3,
            text(#"{"notification":{"custom":{"n":"#) + repeated(text(#"[{"a":"#), doublings: 7)
        ),
        seed(
            "json-escapes",
            settings: 1,
            text(#"{"requestId":""#) + repeated(text(#"\u00e9"#), doublings: 13) + text(#"","tokens":["00"]}"#)
        ),
        seed("numbers", settings: 8, field(6, token) + field(3, text(#"{"aps":{"alert":"4111 1111 1111 1111"}}"#))),
    ]
}
