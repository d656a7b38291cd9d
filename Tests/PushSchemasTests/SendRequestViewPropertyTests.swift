import Foundation
import SwiftProtobuf
import TestSupport
import Testing

@testable import PushSchemas

/// The in-place reader against SwiftProtobuf: what one decodes the other decodes, to the same fields.
@Suite("Requests read in place, compared with SwiftProtobuf")
struct SendRequestViewPropertyTests {
    @Test("Any valid request is read as SwiftProtobuf reads it", arguments: 0..<8 as Range<UInt64>)
    func validRequests(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            var request = randomRequest(&generator)
            addNotification(to: &request, &generator)
            var value: [UInt8] = try request.serializedBytes()
            // A message that comes again is merged into the one before, unless another of the oneof stands between.
            if Int.random(in: 0..<4, using: &generator) == 0 { value += try notification(&generator).serializedBytes() }
            try compare(value)
        }
    }

    @Test("Any damage to a request is judged as SwiftProtobuf judges it", arguments: 0..<8 as Range<UInt64>)
    func damagedRequests(seed: UInt64) throws {
        var generator = SeededGenerator(seed: 1000 + seed)
        for _ in 0..<3000 {
            var value: [UInt8] = try randomRequest(&generator).serializedBytes()
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !value.isEmpty {
                let index = Int.random(in: value.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: value[index] = .random(in: 0...255, using: &generator)
                case 1: value.remove(at: index)
                case 2: value.insert(.random(in: 0...255, using: &generator), at: index)
                default: value.removeSubrange(index...)
                }
            }
            try compare(value)
        }
    }

    @Test("Any short bytes are judged as SwiftProtobuf judges them", arguments: 0..<8 as Range<UInt64>)
    func anyBytes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: 2000 + seed)
        // Tags of known fields with every wire type, lengths, group marks and unknown fields are likely.
        let likely: [UInt8] = [
            0x0A, 0x12, 0x1A, 0x22, 0x2A, 0x32, 0x38, 0x40, 0x4A, 0x52, 0x5A, 0x62, 0x0B, 0x0C, 0x08, 0x0D, 0x09, 0x53,
            0x54, 0x5B, 0x5C, 0x63, 0x64, 0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0xFF,
        ]
        for _ in 0..<5000 {
            let value = (0..<Int.random(in: 1...14, using: &generator)).map { _ in
                likely.randomElement(using: &generator) ?? 0
            }
            try compare(value)
        }
    }

    /// Both readers on the same bytes. The whole-request rules, which SwiftProtobuf does not know, are stated anew.
    private func compare(_ value: [UInt8]) throws {
        guard !value.isEmpty else { return }
        let message = value.withUnsafeBytes { bytes -> PushSendRequest? in
            // A zero byte begins a frame, of which SwiftProtobuf knows nothing.
            guard let opened = try? ConfluentFrame.open(bytes, as: .protobuf) else { return nil }
            let bare = Array(opened.value)
            return opened.contentType == .json
                ? try? PushSendRequest(jsonUTF8Bytes: bare) : try? PushSendRequest(serializedBytes: bare)
        }
        value.withUnsafeBytes { bytes in
            do throws(RecordError) {
                let view = try SendRequestView(decoding: bytes, as: .protobuf)
                guard let message else {
                    Issue.record("SwiftProtobuf refuses \(value)")
                    return
                }
                expectSame(view, message, value)
            } catch {
                let isExpected = message.map { breaksRules($0) } ?? true
                #expect(isExpected, "\(error) for \(value)")
                #expect((message == nil) == (error.fault == .valueUndecodable), "\(error) for \(value)")
            }
        }
    }

    private func expectSame(_ view: SendRequestView, _ message: PushSendRequest, _ value: [UInt8]) {
        #expect(!breaksRules(message), "\(value)")
        #expect(Array(view.requestID) == Array(message.requestID.utf8))
        #expect(Array(view.environment) == Array(message.environment.utf8))
        #expect(Array(view.payload) == payload(message))
        let notification: PushNotification? = if case .notification(let parts) = message.content { parts } else { nil }
        #expect(view.notification == notification, "\(value)")
        #expect(view.expiration.map(Int64.init) == (message.hasExpiration ? message.expiration : nil))
        #expect(view.isBroadcast == !message.channel.isEmpty)
        #expect(view.report.map { Int($0.rawValue) } ?? 0 == message.report.rawValue)
        #expect(Array(view.coalescingKey) == Array(message.coalescingKey.utf8))
        #expect(view.priority.map(UInt32.init) == (message.priority == 0 ? nil : message.priority))
        #expect(Array(view.pushType) == Array(message.pushType.utf8))
        #expect(Array(view.collapseID) == Array(message.collapseID.utf8))
        let packed = [UInt8](message.packedTokens)
        let expected: [[UInt8]?] =
            !message.channel.isEmpty
            ? [Array(message.channel.utf8)]
            : packed.isEmpty
                ? message.tokens.map { try? $0.bytes() }
                : stride(from: 0, to: packed.count, by: 32).map { Array(packed[$0..<$0 + 32]) }
        let found = (0..<view.tokenCount).map { index in
            let token = view.token(at: index)
            return token.fault == nil ? Array(token.bytes) : nil
        }
        #expect(found == expected)
        guard packed.isEmpty, message.channel.isEmpty else { return }
        for (index, token) in message.tokens.enumerated() where found[index] != nil {
            var overrides = TokenOverrides()
            if token.hasBadge { overrides.badge = token.badge }
            overrides.locale = token.locale
            overrides.locArgs = token.locArgs
            #expect(view.token(at: index).overrides ?? TokenOverrides() == overrides, "\(value)")
        }
    }

    private func payload(_ message: PushSendRequest) -> [UInt8] {
        switch message.content {
        case .payload(let bytes): Array(bytes)
        case .payloadJson(let text): Array(text.utf8)
        case .notification, nil: []
        }
    }

    private func breaksRules(_ message: PushSendRequest) -> Bool {
        let forms = [!message.packedTokens.isEmpty, !message.tokens.isEmpty, !message.channel.isEmpty]
        let hasOneForm = forms.filter { $0 }.count == 1
        let isStructured = if case .notification = message.content { true } else { false }
        let hasOverrides = message.tokens.contains { $0.hasBadge || !$0.locale.isEmpty || !$0.locArgs.isEmpty }
        return payload(message).isEmpty && !isStructured || hasOverrides && !isStructured || !hasOneForm
            || !message.packedTokens.count.isMultiple(of: 32)
            || UInt32(exactly: message.expiration) == nil || ![0, 1, 5, 10].contains(message.priority)
            || message.coalescingKey.utf8.count > 255 || !(0...3).contains(message.report.rawValue)
    }

    private func randomRequest(_ generator: inout SeededGenerator) -> PushSendRequest {
        var request = PushSendRequest()
        if Bool.random(using: &generator) {
            request.requestID = ["", "r", "anfrage-ü", "x🚀"].randomElement(using: &generator) ?? ""
        }
        if Bool.random(using: &generator) { request.environment = "sandbox" }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: break
        case 1, 2, 3: request.payload = randomData(0...200, &generator)
        default: request.payloadJson = #"{"aps":{"alert":"grüß"}}"#
        }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: request.expiration = 0
        case 1: request.expiration = Int64.random(in: -1...(1 << 33), using: &generator)
        default: break
        }
        if Bool.random(using: &generator) { request.priority = [0, 1, 2, 5, 10].randomElement(using: &generator) ?? 0 }
        if Bool.random(using: &generator) {
            request.pushType = ["", "alert", "größe"].randomElement(using: &generator) ?? ""
        }
        if Bool.random(using: &generator) {
            request.collapseID = ["", "score", "spiel-ü"].randomElement(using: &generator) ?? ""
        }
        if Bool.random(using: &generator) {
            request.coalescingKey =
                ["", "score", "spiel-ü", String(repeating: "k", count: 255), String(repeating: "ü", count: 128)]
                .randomElement(using: &generator) ?? ""
        }
        if Bool.random(using: &generator) {
            request.packedTokens = Data(repeating: 3, count: 32 * Int.random(in: 0...5, using: &generator))
        }
        request.report = PushReport(rawValue: max(0, Int.random(in: -3...4, using: &generator))) ?? .unspecified
        if Int.random(in: 0..<5, using: &generator) == 0 { request.channel = "dHN0LWä" }
        if request.packedTokens.isEmpty && request.channel.isEmpty || Int.random(in: 0..<10, using: &generator) == 0 {
            request.tokens = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                PushDeviceToken.with {
                    switch Int.random(in: 0..<5, using: &generator) {
                    case 0: break
                    case 1, 2: $0.raw = randomData(0...40, &generator)
                    default: $0.hex = ["", "0", "0a", "FFfe", "zz", "é1"].randomElement(using: &generator) ?? ""
                    }
                }
            }
        }
        return request
    }

    /// Puts a notification in place of the payload, sometimes; and overrides into tokens, mostly where they may be.
    private func addNotification(to request: inout PushSendRequest, _ generator: inout SeededGenerator) {
        let isStructured = Bool.random(using: &generator)
        if isStructured { request.content = notification(&generator).content }
        for index in request.tokens.indices where Int.random(in: 0..<(isStructured ? 2 : 20), using: &generator) == 0 {
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: request.tokens[index].badge = .random(in: 0...300, using: &generator)
            case 1: request.tokens[index].locale = ["de", "pt-BR", "é"].randomElement(using: &generator) ?? ""
            default: request.tokens[index].locArgs = ["", "Ümit"]
            }
        }
    }

    /// A request with nothing but a notification.
    private func notification(_ generator: inout SeededGenerator) -> PushSendRequest {
        PushSendRequest.with {
            $0.notification = PushNotification.with {
                if Bool.random(using: &generator) { $0.alert.body = "grüß" }
                if Bool.random(using: &generator) { $0.alert.title = "Titel" }
                if Bool.random(using: &generator) { $0.badge.set = .random(in: 0...300, using: &generator) }
                if Bool.random(using: &generator) { $0.localizations["de"] = PushAlert.with { $0.body = "Tor" } }
            }
        }
    }

    private func randomData(_ range: ClosedRange<Int>, _ generator: inout SeededGenerator) -> Data {
        Data((0..<Int.random(in: range, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
