import PushSchemas
import SwiftProtobuf
import TestSupport
import Testing

@testable import PayloadRendering

/// A payload costs what its own size demands, not the size of the notification.
@Suite("The cost of payloads")
struct RenderingCostTests {
    private static let limit = 4096

    @Test("A body as long as a record is looked at once, as far as any payload could show it")
    func longBody() throws {
        for piece in ["x", "é", "👨‍👩‍👧", "\r\n", "\u{1}"] {
            let body = EscapedBody(String(repeating: piece, count: 500_000 / piece.utf8.count), isCut: true)
            #expect((1...EscapedBody.cutBytes).contains(body.charactersRead), "\(piece.debugDescription)")
            #expect(EscapedBody("abc", isCut: false).charactersRead == 0)
            #expect(body.beginning(bytes: 2) == nil && body.beginning(bytes: 3)?.isEmpty == true)
            #expect((body.beginning(bytes: .max)?.count ?? 0) <= EscapedBody.cutBytes)
        }
    }

    @Test("One character as long as a record is not looked through for each token")
    func longCharacter() throws {
        let body = EscapedBody("e" + String(repeating: "\u{301}", count: 250_000), isCut: true)
        #expect(body.charactersRead == 0 && body.beginning(bytes: Self.limit)?.isEmpty == true)
        // The mark belongs to the last letter of a part that is ASCII's alone.
        let letters = String(repeating: "x", count: EscapedBody.cutBytes)
        #expect(EscapedBody(letters + "\u{301}", isCut: true).charactersRead == EscapedBody.cutBytes - 1)
        #expect(EscapedBody(letters + "x", isCut: true).charactersRead == EscapedBody.cutBytes)
    }

    @Test("A beginning is the longest that ends between two characters", arguments: 0..<8 as Range<UInt64>)
    func beginnings(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for pieces in [["a", "b", "\"", "\n", "\r", "\r\n", "\u{1}"], ["a", "é", "e\u{301}", "🇩🇪", "\r\n", "👨‍👩‍👧"]] {
            for _ in 0..<100 {
                let text = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                    pieces.randomElement(using: &generator) ?? ""
                }.joined()
                let body = EscapedBody(text, isCut: true)
                let room = Int.random(in: 3...80, using: &generator)
                var longest: [UInt8] = []
                for count in 0...text.count {
                    let beginning = EscapedBody(String(text.prefix(count)), isCut: false).bytes
                    if beginning.count + 3 <= room { longest = beginning }
                }
                #expect(body.beginning(bytes: room).map(Array.init) == longest, "\(text.debugDescription) \(room)")
            }
        }
    }

    @Test("Thousands of tokens with badges of their own beside a long body have payloads that fit")
    func manyBadges() throws {
        let template = try NotificationTemplate(
            PushNotification.with {
                $0.alert.title = "t"
                $0.alert.body = String(repeating: "grün ", count: 100_000)
                $0.shorten = true
            }
        )
        for badge in stride(from: 0, to: 12_000 as UInt32, by: 7) {
            var own = TokenOverrides()
            own.badge = badge
            let payload = try template.payload(overrides: own, limitBytes: Self.limit)
            #expect((Self.limit - 2...Self.limit).contains(payload.count))
        }
        var long = TokenOverrides()
        long.locArgs = [String(repeating: "y", count: Self.limit)]
        #expect(throws: NotificationFault.self) { try template.payload(overrides: long, limitBytes: Self.limit) }
    }

    @Test("A payload that does not fit is told its whole length")
    func tooLong() throws {
        let template = try NotificationTemplate(
            PushNotification.with {
                $0.alert.body = String(repeating: "\"", count: 3000)
                $0.badge.set = 10
                $0.custom = ["k": 1]
            }
        )
        let whole = try template.payload(limitBytes: .max).count
        do {
            _ = try template.payload(limitBytes: Self.limit)
            Issue.record("6000 bytes fit into \(Self.limit)")
        } catch {
            #expect("\(error)".contains("leads to a payload of \(whole) bytes; \(Self.limit) are allowed"))
        }
    }

    @Test("Objects nested as deep as may be are written as they stand")
    func nested() throws {
        var value = Google_Protobuf_Value(stringValue: String(repeating: "x", count: 1000))
        for level in 0..<31 {
            let list = Google_Protobuf_ListValue(values: [value, .init(numberValue: Double(level))])
            value = .init(structValue: ["b": .init(listValue: list), "a": true])
        }
        let notification = PushNotification.with { $0.custom = ["k": value] }
        let payload = String(decoding: try NotificationTemplate(notification).payload(limitBytes: .max), as: UTF8.self)
        #expect(payload.hasPrefix(#"{"aps":{},"k":{"a":true,"b":[{"a":true,"b":["#))
        #expect(payload.hasSuffix(#"x",0]},1]},2]},3]}"# + (4..<31).map { ",\($0)]}" }.joined() + "}"))
    }

    @Test("The nearest of 256 languages is found among tags of any length", arguments: 0..<4 as Range<UInt64>)
    func manyLanguages(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var numbers: [String: Int] = [:]
        var table = LanguageTable()
        while numbers.count < LanguageTable.limit {
            let parts = (0..<Int.random(in: 1...5, using: &generator)).map { _ -> String in
                let letters = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    "abc".randomElement(using: &generator) ?? "a"
                }
                return String(letters)
            }
            let tag = parts.joined(separator: "-")
            let isNew = numbers[tag] == nil
            #expect(table.insert(tag, number: numbers.count + 1) == isNew, "\(tag)")
            if isNew { numbers[tag] = numbers.count + 1 }
        }
        for tag in numbers.keys.sorted() {
            #expect(table.number(of: tag.uppercased()) == numbers[tag])
            let locale = tag + "-x-private"
            var parts = locale.split(separator: "-")
            while !parts.isEmpty, numbers[parts.joined(separator: "-")] == nil { parts.removeLast() }
            #expect(table.number(of: locale) == numbers[parts.joined(separator: "-")], "\(locale)")
        }
    }
}
