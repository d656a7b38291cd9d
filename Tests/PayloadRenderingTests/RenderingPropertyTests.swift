import APNsProtocol
import Foundation
import PushSchemas
import SwiftProtobuf
import TestSupport
import Testing

@testable import PayloadRendering

/// Any notification, compared with what a foreign parser reads of its payload.
@Suite("Any notification in parts")
struct RenderingPropertyTests {
    @Test(
        "A payload passes the scanner unchanged, and says what the notification says",
        arguments: 0..<8 as Range<UInt64>
    )
    func payloads(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let notification = randomNotification(&generator)
            let payload = try NotificationTemplate(notification).payload(limitBytes: .max)
            #expect(try PayloadScanner.stripped(payload, limitBytes: .max) == payload)
            #expect(try NotificationTemplate(notification).pushType() == PushType(inferredFrom: payload))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
            let aps = try #require(object["aps"] as? [String: Any])
            let alert = aps["alert"] as? [String: Any]
            let body = aps["alert"] as? String ?? alert?["body"] as? String ?? ""
            #expect(body == notification.alert.body)
            #expect(alert?["title"] as? String ?? "" == notification.alert.title)
            #expect(alert?["loc-args"] as? [String] ?? [] == notification.alert.locArgs)
            #expect((aps["badge"] as? NSNumber)?.uint32Value == number(of: notification))
            #expect(Set(object.keys) == Set(notification.custom.fields.keys).union(["aps"]))
            #expect(try NotificationTemplate(notification).payload(limitBytes: .max) == payload)
        }
    }

    @Test(
        "A shortened payload fits, begins like the body, and one more character would not fit",
        arguments: 0..<8 as Range<UInt64>
    )
    func shortened(seed: UInt64) throws {
        var generator = SeededGenerator(seed: 100 + seed)
        for _ in 0..<300 {
            var notification = randomNotification(&generator)
            notification.alert.body += randomText(1...80, &generator)
            notification.shorten = true
            let template = try NotificationTemplate(notification)
            let whole = try template.payload(limitBytes: .max)
            let limit = Int.random(in: 20..<whole.count, using: &generator)
            guard let payload = try? template.payload(limitBytes: limit) else {
                notification.alert.body = "…"
                let least = try NotificationTemplate(notification).payload(limitBytes: .max)
                #expect(least.count > limit, "not even the ellipsis fits")
                continue
            }
            #expect(payload.count <= limit)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
            let aps = try #require(object["aps"] as? [String: Any])
            let text = try #require(aps["alert"] as? String ?? (aps["alert"] as? [String: Any])?["body"] as? String)
            #expect(text.utf8.last == "…".utf8.last)
            let kept = String(decoding: text.utf8.dropLast(3), as: UTF8.self)
            let body = notification.alert.body
            let characters = kept.count
            #expect(String(body.prefix(characters)) == kept, "cut between characters")
            notification.alert.body = String(body.prefix(characters + 1)) + "…"
            let next = try NotificationTemplate(notification).payload(limitBytes: .max)
            #expect(next.count > limit || characters == body.count)
        }
    }

    /// The badge of every token; nil: none, or one that is added to.
    private func number(of notification: PushNotification) -> UInt32? {
        switch notification.badge.change {
        case .set(let number): number
        case .clear: 0
        case .add, nil: nil
        }
    }

    private func randomBadge(_ generator: inout SeededGenerator) -> PushBadge.OneOf_Change {
        switch Int.random(in: 0...3, using: &generator) {
        case 0: .clear(true)
        case 1: .add(.random(in: .min ... .max, using: &generator))
        default: .set(.random(in: 0...UInt32.max, using: &generator))
        }
    }

    private func randomNotification(_ generator: inout SeededGenerator) -> PushNotification {
        PushNotification.with {
            if Bool.random(using: &generator) { $0.alert.body = randomText(0...60, &generator) }
            if Bool.random(using: &generator) { $0.alert.title = randomText(0...20, &generator) }
            if Bool.random(using: &generator) { $0.alert.locArgs = [randomText(0...5, &generator), ""] }
            if Bool.random(using: &generator) { $0.badge.change = randomBadge(&generator) }
            if Bool.random(using: &generator) { $0.sound.name = randomText(0...5, &generator) }
            if Bool.random(using: &generator) { $0.contentAvailable = true }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                $0.liveActivity.event = "update"
                $0.liveActivity.timestamp = 1
            }
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let key = "k" + randomText(0...5, &generator)
                $0.custom.fields[key] = randomValue(4, &generator)
            }
        }
    }

    private func randomValue(_ depth: Int, _ generator: inout SeededGenerator) -> Google_Protobuf_Value {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &generator) {
        case 0: return Google_Protobuf_Value(stringValue: randomText(0...10, &generator))
        case 1: return Google_Protobuf_Value(numberValue: .random(in: -1e18...1e18, using: &generator))
        case 2: return Google_Protobuf_Value(numberValue: Double(Int.random(in: -1000...1000, using: &generator)))
        case 3: return Google_Protobuf_Value(boolValue: .random(using: &generator))
        case 4:
            let values = (0..<2).map { _ in randomValue(depth - 1, &generator) }
            return Google_Protobuf_Value(listValue: Google_Protobuf_ListValue(values: values))
        default:
            return Google_Protobuf_Value(
                structValue: Google_Protobuf_Struct(fields: [
                    randomText(0...5, &generator): randomValue(depth - 1, &generator)
                ])
            )
        }
    }

    /// Letters, escapes, controls, and characters of several scalars.
    private func randomText(_ count: ClosedRange<Int>, _ generator: inout SeededGenerator) -> String {
        let pieces = ["a", "é", "e\u{301}", "\"", "\\", "\n", "\u{1}", "🚀", "👨‍👩‍👧", "🇩🇪", " ", "漢", "\r\n", "/"]
        return (0..<Int.random(in: count, using: &generator)).map { _ in
            pieces.randomElement(using: &generator) ?? ""
        }.joined()
    }
}
