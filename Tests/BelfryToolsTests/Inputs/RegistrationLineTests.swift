import BelfrySupport
import Testing

@testable import BelfryTools

@Suite struct RegistrationLineTests {
    private static let hex = String(repeating: "0a", count: 32)
    private static let token = [UInt8](repeating: 10, count: 32)

    private func parse(_ text: String) throws -> RegistrationLine? {
        try Array(text.utf8).withUnsafeBytes { try RegistrationLine.parse($0, lengths: 32...40) }
    }

    @Test("A line has a token, and may have time, locale and time zone; what is empty is the command's")
    func fields() throws {
        for text in [Self.hex, "  \(Self.hex.uppercased())\t\r", "\(Self.hex),,,", "\(Self.hex),"] {
            let line = try #require(try parse(text))
            #expect(line.token == Self.token)
            #expect(line.registeredAt == nil && line.locale == nil && line.timeZone == nil)
        }
        let line = try #require(try parse("\(Self.hex), 1700000000 ,pt-BR,America/Sao_Paulo"))
        #expect(line.registeredAt == 1_700_000_000)
        #expect(line.locale == "pt-BR")
        #expect(line.timeZone == "America/Sao_Paulo")
        #expect(try parse("\(Self.hex),,de")?.locale == "de")
    }

    @Test("Blank lines and comments say nothing", arguments: ["", "  \r", "# a,b,c,d,e", " #"])
    func nothing(text: String) throws {
        #expect(try parse(text) == nil)
    }

    @Test("Fields may be quoted: a comma in quotes belongs to the field, blanks around the quotes do not")
    func quotes() throws {
        let line = try #require(try parse("\"\(Self.hex)\", \"1700000000\" ,\"de\",\"\""))
        #expect(line.token == Self.token)
        #expect(line.registeredAt == 1_700_000_000)
        #expect(line.locale == "de")
        #expect(line.timeZone == nil)
        #expect(try parse("\(Self.hex),,\"a,b\"")?.locale == "a,b")
    }

    @Test(
        "A time is UNIX seconds or ISO 8601, with or without fraction, in any zone",
        arguments: [
            ("1366709400", 1_366_709_400), ("2013-04-23T09:30:00Z", 1_366_709_400),
            ("2013-04-23T09:30:00.250Z", 1_366_709_400), ("2013-04-23T09:30:00.999Z", 1_366_709_400),
            ("2013-04-23T11:30:00+02:00", 1_366_709_400), ("4294967295", .max),
        ] as [(String, UInt32)]
    )
    func times(text: String, seconds: UInt32) throws {
        #expect(RegistrationTime.parse(text) == seconds)
        #expect(try parse("\(Self.hex),\(text)")?.registeredAt == seconds)
    }

    @Test("A time that tokens show prints is read again")
    func printedTime() {
        let printed = UTCTimestamp.text(unixMilliseconds: 1_366_709_400_000)
        #expect(RegistrationTime.parse(printed) == 1_366_709_400)
    }

    @Test(
        "What is no time, or none that a registration can have, is refused",
        arguments: ["", "0", "-1", "now", "2013-04-23", "1969-12-31T23:59:59Z", "2107-01-01T00:00:00Z", "1e9"]
    )
    func noTimes(text: String) {
        #expect(RegistrationTime.parse(text) == nil)
    }

    private func columns(_ header: String) throws -> RegistrationColumns? {
        try Array(header.utf8).withUnsafeBytes { try RegistrationColumns(header: $0) }
    }

    @Test("A header names the columns in any order and manner")
    func header() throws {
        #expect(
            try columns("Token,registered_at,Locale,timeZone")?.fields == [.token, .registeredAt, .locale, .timeZone]
        )
        let columns = try #require(try columns("\"Time Zone\",\"Token\""))
        #expect(columns.fields == [.timeZone, .token])
        let line = try Array("Europe/Berlin,\(Self.hex)".utf8).withUnsafeBytes {
            try RegistrationLine.parse($0, columns: columns, lengths: 32...32)
        }
        #expect(line?.token == Self.token)
        #expect(line?.timeZone == "Europe/Berlin")
        #expect(throws: RegistrationLine.Fault(message: "the token has 0 bytes; allowed: 32...40")) {
            try Array("UTC".utf8).withUnsafeBytes {
                try RegistrationLine.parse($0, columns: columns, lengths: 32...40)
            }
        }
    }

    @Test("A line without a column called token is no header")
    func noHeader() throws {
        #expect(try columns(Self.hex) == nil)
        #expect(try columns("locale,time zone") == nil)
        #expect(try columns("\"token") == nil)
    }

    @Test("A header that names something else, or a column twice, is refused")
    func wrongHeader() {
        let unknown = "the header names \"colour\"; allowed: token, registered at, locale, time zone"
        #expect(throws: RegistrationLine.Fault(message: unknown)) { try columns("token,colour") }
        #expect(throws: RegistrationLine.Fault(message: "the header names \"token\" twice")) {
            try columns("token,TOKEN")
        }
    }

    @Test(
        "What is wrong with a line is told",
        arguments: [
            ("zz", "the token is not hexadecimal: byte 0 is not one of 0-9, a-f, A-F"),
            ("0a0", "the token has 3 hexadecimal digits, an odd number"),
            ("0a0a", "the token has 2 bytes; allowed: 32...40"), (",5", "the token has 0 bytes; allowed: 32...40"),
            ("\(hex),0", "registered at \"0\"; allowed: \(RegistrationTime.allowed)"),
            ("\(hex),4294967296", "registered at \"4294967296\"; allowed: \(RegistrationTime.allowed)"),
            ("\(hex),yesterday", "registered at \"yesterday\"; allowed: \(RegistrationTime.allowed)"),
            ("\"\(hex)", "a quotation mark opens a field, and none on the line closes it"),
            ("\(hex),,\"d\"\"e\"", "a field has a quotation mark in it"),
            ("\(hex),,\"de\"x", "a closing quotation mark is followed by something else than a comma"),
            ("\(hex),1,2,3,4", "5 fields; allowed: token, registered at, locale, time zone"),
            ("\(hex),1,\(String(repeating: "x", count: 36))", "the locale has 36 bytes; allowed: 35"),
            (
                "\(hex),1,\(String(repeating: "x", count: 35)),Mars/Arcadia",
                "the time zone has 12 bytes; allowed: an IANA name, or 9"
            ),
        ]
    )
    func faults(text: String, message: String) {
        #expect(throws: RegistrationLine.Fault(message: message)) { try parse(text) }
    }
}
