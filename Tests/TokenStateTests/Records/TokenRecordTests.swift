import APNsProtocol
import TestSupport
import Testing

@testable import TokenState

/// Reading the value of a token; ``TokenScriptsServerTests`` prove that the scripts write it so.
@Suite struct TokenRecordTests {
    /// Feedback (1) at 0x0A0B0C0D, registered at 0x01020304.
    private static let fixed: [UInt8] = [1, 0x04, 0x03, 0x02, 0x01, 0x0D, 0x0C, 0x0B, 0x0A, 1]

    private func record(_ bytes: [UInt8]) -> TokenRecord? { bytes.withUnsafeBytes { TokenRecord($0) } }

    private func death(_ bytes: [UInt8], for kind: TopicKind = .app) -> TokenRecord.Reason? {
        bytes.withUnsafeBytes { TokenRecord.reasonOfDeath($0, for: kind) }
    }

    private func value(registered: UInt8, tombstoned: UInt8, reason: UInt8 = 1, flags: UInt8 = 1) -> [UInt8] {
        [flags, registered, 0, 0, 0, tombstoned, 0, 0, 0, reason]
    }

    @Test("Every field stands at its place, little-endian")
    func layout() throws {
        let bytes: [UInt8] =
            [1 | 2 | 4 | 16 | 32, 4, 3, 2, 1, 8, 7, 6, 5, 0xD, 0xC, 0xB, 0xA, 2, 9, 0, 0, 0, 2]
            + Array("de".utf8) + [5] + Array("Mars!".utf8)
        let record = try #require(self.record(bytes))
        #expect(record.registeredAt == 0x0102_0304)
        #expect(record.describedAt == 0x0506_0708)
        #expect(record.tombstonedAt == 0x0A0B_0C0D)
        #expect(record.reason == .invalid)
        #expect(record.badge == 9)
        #expect(record.texts == TokenTexts(locale: "de", timeZone: "Mars!"))
        #expect(record.bytes == bytes)
    }

    @Test("A token with locale and time zone takes 13 bytes")
    func size() {
        var record = TokenRecord()
        record.registeredAt = 1
        record.texts = TokenTexts(locale: "pt-BR", timeZone: "America/Sao_Paulo")
        #expect(record.bytes.count == 13)
    }

    @Test("What is written is read, for every set of fields; cut short or too long by a byte it is not")
    func roundTrip() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<400 {
            var record = TokenRecord()
            record.registeredAt = .random(in: 0 ... .max, using: &generator)
            if Bool.random(using: &generator) { record.describedAt = .random(in: 1 ... .max, using: &generator) }
            if Bool.random(using: &generator) {
                record.tombstonedAt = .random(in: 1 ... .max, using: &generator)
                record.reason = .feedback
            }
            if Bool.random(using: &generator) { record.badge = .random(in: 0 ... .max, using: &generator) }
            record.texts = TokenTexts(
                locale: ["", "de", "zh-Hant"].randomElement(using: &generator) ?? "",
                timeZone: ["", "Europe/Berlin", "UTC", "Nowhere/Land"].randomElement(using: &generator) ?? ""
            )
            let bytes = record.bytes
            let locale = bytes.withUnsafeBytes { value in
                TokenRecord.locale(value).map { String(decoding: $0, as: UTF8.self) }
            }
            #expect(locale ?? "" == record.texts.locale)
            let read = self.record(bytes)
            #expect(read == record)
            #expect(self.record(bytes + [0]) == nil)
            for count in bytes.indices { #expect(self.record(Array(bytes.prefix(count))) == nil) }
        }
    }

    @Test("Kinds of topics for which a token was refused are read as they are written, those of later versions too")
    func refusedKinds() {
        let kinds = ([1, 2, 3, 4, 5, 6, 7, 8, 9, 200] as [UInt8]).map { TopicKind(rawValue: $0) }
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<400 {
            var record = TokenRecord()
            record.registeredAt = .random(in: 0...9, using: &generator)
            if Bool.random(using: &generator) { record.describedAt = .random(in: 1 ... .max, using: &generator) }
            if Bool.random(using: &generator) {
                record.tombstonedAt = .random(in: 1...9, using: &generator)
                record.reason = .unregistered
            }
            if Bool.random(using: &generator) { record.badge = .random(in: 0 ... .max, using: &generator) }
            record.texts = TokenTexts(
                locale: ["", "de", "zh-Hant"].randomElement(using: &generator) ?? "",
                timeZone: ["", "Europe/Berlin", "Nowhere/Land"].randomElement(using: &generator) ?? ""
            )
            record.refused = kinds.shuffled(using: &generator).prefix(3).map {
                RefusedKind(kind: $0, at: .random(in: 1...9, using: &generator))
            }
            let bytes = record.bytes
            #expect(self.record(bytes) == record)
            #expect(self.record(bytes + [0]) == nil && self.record(Array(bytes.dropLast())) == nil)
            for kind in kinds {
                let isRefused = record.refused.contains { $0.kind == kind && $0.at > record.registeredAt }
                let expected: TokenRecord.Reason? = record.isDead ? .unregistered : isRefused ? .invalid : nil
                #expect(death(bytes, for: kind) == expected, "\(kind.name): \(record)")
            }
        }
    }

    @Test("A tombstone of an earlier version, invalid or not, is for every kind of topic", arguments: PushType.allCases)
    func everyKind(type: PushType) {
        #expect(death(value(registered: 5, tombstoned: 6, reason: 2), for: type.topicKind) == .invalid)
        #expect(death(value(registered: 5, tombstoned: 6, reason: 3), for: type.topicKind) == .unregistered)
    }

    @Test("A kind of a later version silences no other one")
    func unknownKind() {
        let bytes: [UInt8] = [0, 5, 0, 0, 0, 200, 6, 0, 0, 0]
        #expect(record(bytes)?.refused == [RefusedKind(kind: TopicKind(rawValue: 200), at: 6)])
        for type in PushType.allCases { #expect(death(bytes, for: type.topicKind) == nil) }
        #expect(record(bytes)?.bytes == bytes)
    }

    @Test("A value with flags or a reason that are not known is not read")
    func unknown() {
        #expect(record([64] + Self.fixed.dropFirst()) == nil)
        #expect(record([0x81] + Self.fixed.dropFirst()) == nil)
        #expect(record(Self.fixed.dropLast() + [200]) == nil)
    }

    @Test("A locale is cut between two characters, a time zone without a number kept whole or not at all")
    func longTexts() {
        let locale = String(repeating: "x", count: 34)
        let long = TokenTexts(locale: locale + "é", timeZone: "Etc/Unknown")
        #expect(long.locale == locale && long.timeZone.isEmpty)
        #expect(TokenTexts(locale: locale + "x", timeZone: "Asia/Ho_Chi_Minh").timeZone == "Asia/Ho_Chi_Minh")
        let zone = String(repeating: "z", count: 42)
        #expect(TokenTexts(locale: "de", timeZone: zone).timeZone == zone)
        #expect(TokenTexts(locale: "de", timeZone: zone + "z").timeZone.isEmpty)
    }

    @Test("A time zone's number of a newer version is a zone that is not known")
    func unknownZone() throws {
        let record = try #require(self.record([8, 1, 0, 0, 0, 0xFF, 0xFF]))
        #expect(record.texts.timeZone.isEmpty)
    }

    @Test("A token is dead if its tombstone is younger than its registration; in the same second it lives")
    func dead() {
        #expect(death(value(registered: 5, tombstoned: 6)) == .feedback)
        #expect(death(value(registered: 5, tombstoned: 5)) == nil)
        #expect(death(value(registered: 6, tombstoned: 5)) == nil)
        #expect(death(value(registered: 0, tombstoned: 1)) == .feedback)
        #expect(death(value(registered: 5, tombstoned: 6, flags: 0)) == nil)
        #expect(record(value(registered: 5, tombstoned: 6))?.isDead == true)
        #expect(record(value(registered: 5, tombstoned: 5))?.isDead == false)
    }

    @Test("The tombstone is found behind the time of the description")
    func described() {
        #expect(death([33, 5, 0, 0, 0, 9, 0, 0, 0, 6, 0, 0, 0, 3]) == .unregistered)
        #expect(death([33, 5, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 3]) == nil)
    }

    @Test("Timestamps are compared without a sign: they go on after 2038")
    func unsigned() {
        #expect(death([1, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0x80, 2]) == .invalid)
    }

    @Test("What the look before sending cannot read lives")
    func unreadable() {
        #expect(death(Self.fixed) == .feedback)
        for count in 0..<Self.fixed.count { #expect(death(Array(Self.fixed.prefix(count))) == nil) }
        #expect(death(value(registered: 5, tombstoned: 6, flags: 65)) == nil)
    }

    @Test("A dead token stays silent whatever the reason says", arguments: [UInt8(0), 1, 2, 3, 4, 255])
    func everyReason(code: UInt8) {
        #expect(
            death(value(registered: 1, tombstoned: 2, reason: code)) == TokenRecord.Reason(rawValue: code)
                ?? TokenRecord.Reason.none
        )
    }

    @Test("The codes of the reasons are those that are stored")
    func codes() {
        #expect(TokenRecord.Reason.allCases.map(\.rawValue) == [0, 1, 2, 3])
        #expect(TokenRecord.Reason.allCases.map(\.name) == ["none", "feedback", "invalid-token", "unregistered"])
    }

    @Test("Time zones have the numbers that are stored")
    func zones() {
        #expect(TimeZoneCodes.names.count == 598)
        #expect(TimeZoneCodes.code(of: "Africa/Abidjan") == 0)
        #expect(
            TimeZoneCodes.code(of: "Europe/Berlin")
                == TimeZoneCodes.names.firstIndex(of: "Europe/Berlin").map(UInt16.init)
        )
        #expect(TimeZoneCodes.name(of: 597) == "Zulu")
        #expect(TimeZoneCodes.name(of: 598) == nil)
    }
}
