import Testing

@testable import BelfryRuntime

/// Reading the value of a token; ``TokenScriptTests`` prove that the scripts write it so.
@Suite struct TokenRecordTests {
    /// Feedback (1) at 0x0A0B0C0D, registered at 0x01020304.
    private static let fixed: [UInt8] = [1, 1, 0x04, 0x03, 0x02, 0x01, 0x0D, 0x0C, 0x0B, 0x0A]
    private static let whole = fixed + [2] + Array("de".utf8) + [13] + Array("Europe/Berlin".utf8)

    private func record(_ bytes: [UInt8]) -> TokenRecord? { bytes.withUnsafeBytes { TokenRecord($0) } }

    private func death(_ bytes: [UInt8]) -> TokenRecord.Reason? {
        bytes.withUnsafeBytes { TokenRecord.reasonOfDeath($0) }
    }

    private func value(registered: UInt8, tombstoned: UInt8, reason: UInt8 = 1, version: UInt8 = 1) -> [UInt8] {
        [version, reason, registered, 0, 0, 0, tombstoned, 0, 0, 0, 0, 0]
    }

    @Test("Every field stands at its place, little-endian")
    func layout() throws {
        let record = try #require(self.record(Self.whole))
        #expect(record.reason == .feedback)
        #expect(record.registeredAt == 0x0102_0304)
        #expect(record.tombstonedAt == 0x0A0B_0C0D)
        #expect(record.locale == "de")
        #expect(record.timeZone == "Europe/Berlin")
    }

    @Test("A value that is cut short or too long by a byte is not one of version 1")
    func truncated() {
        for count in 0..<Self.whole.count { #expect(record(Array(Self.whole.prefix(count))) == nil) }
        #expect(record(Self.whole + [0]) == nil)
    }

    @Test("A value of another version, or with a reason that is not known, is not read")
    func unknown() {
        #expect(record([2] + Self.whole.dropFirst()) == nil)
        #expect(record([1, 200] + Self.whole.dropFirst(2)) == nil)
    }

    @Test("A token is dead if its tombstone is younger than its registration; in the same second it lives")
    func dead() {
        #expect(death(value(registered: 5, tombstoned: 6)) == .feedback)
        #expect(death(value(registered: 5, tombstoned: 5)) == nil)
        #expect(death(value(registered: 6, tombstoned: 5)) == nil)
        #expect(death(value(registered: 0, tombstoned: 1)) == .feedback)
        #expect(death(value(registered: 0, tombstoned: 0)) == nil)
        #expect(record(value(registered: 5, tombstoned: 6))?.isDead == true)
        #expect(record(value(registered: 5, tombstoned: 5))?.isDead == false)
    }

    @Test("Timestamps are compared without a sign: they go on after 2038")
    func unsigned() {
        let young: [UInt8] = [1, 2, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0x80, 0, 0]
        #expect(death(young) == .invalid)
    }

    @Test("The look before sending needs the fixed part only, and what it cannot read lives")
    func onlyTheFixedPart() {
        #expect(death(Self.fixed) == .feedback)
        for count in 0..<Self.fixed.count { #expect(death(Array(Self.fixed.prefix(count))) == nil) }
        #expect(death(value(registered: 5, tombstoned: 6, version: 2)) == nil)
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
}
