import APNsProtocol
import BelfrySupport
import TestSupport
import Testing

@testable import BelfryTools

/// Tokens in the bytes of files, which come in pieces of any size.
@Suite struct TokenScannerTests {
    private struct Found: Equatable {
        var tokens: [[UInt8]] = []
        var faults: [String] = []
        var place = TokenFilePlace()
    }

    @Test("One token a line; blank lines, comments and space around a token do not count")
    func lines() throws {
        let text = "\n# comment\n" + hex(1) + "\n  " + hex(2).uppercased() + "\t\r\n\r\n" + hex(3)
        let found = try scan(text)
        #expect(found.tokens == [token(1), token(2), token(3)])
        #expect(found.faults == [])
        #expect(found.place == TokenFilePlace(offset: Int64(text.utf8.count), lines: 6, tokens: 3, column: 0))
    }

    @Test("Every line that is no token is told with its number, the first ten, and the others are counted")
    func faults() throws {
        let lines = [hex(1), "zz", "0102", hex(2) + "0", "", hex(3)]
        let found = try scan(lines.joined(separator: "\n"), lengths: 32...32)
        #expect(found.tokens == [token(1), token(3)])
        #expect(
            found.faults == [
                "t:2: the token is not hexadecimal: byte 0 is not one of 0-9, a-f, A-F",
                "t:3: the token has 2 bytes; allowed: 32",
                "t:4: the token has 65 hexadecimal digits, an odd number",
            ]
        )
        let many = try scan(String(repeating: "x1\n", count: 13)).faults
        #expect(many.count == 11)
        #expect(many[9].hasPrefix("t:10: "))
        #expect(many[10] == "… and 3 more")
    }

    @Test("A line as long as a token with a digit that is none is told, and no token")
    func wrongDigit() throws {
        let found = try scan(hex(1) + "\n" + hex(2).dropLast() + "g\r\n")
        #expect(found.tokens == [token(1)])
        #expect(found.faults == ["t:2: the token is not hexadecimal: byte 63 is not one of 0-9, a-f, A-F"])
    }

    @Test("Without a header the token is the first column, quoted or not, and the others say nothing")
    func columns() throws {
        let text = """
            \(hex(1)),2026-01-31T12:00:00Z,pt-BR
            "\(hex(2))" , what, ever, there, "may, be"
             \(hex(3)) ,
            ,\(hex(4))
            """
        let found = try scan(text)
        #expect(found.tokens == [token(1), token(2), token(3)])
        #expect(found.faults == ["t:4: the token has 0 bytes; allowed: 32...100"])
    }

    @Test("A header says which column is the token's, behind a byte order mark and comments; others have any name")
    func header() throws {
        let rows = ["name, Token ,\"locale\"", "me,\(hex(1)),de", "\"a,b\",\"\(hex(2))\"", "x"]
        let text = "\u{FEFF}# exported\r\n\r\n" + rows.map { $0 + "\r\n" }.joined()
        let found = try scan(text)
        #expect(found.tokens == [token(1), token(2)])
        #expect(found.faults == ["t:6: the token has 0 bytes; allowed: 32...100"])
        #expect(found.place.column == 1)
        #expect(try scan("\u{FEFF}" + hex(1)).tokens == [token(1)])
        #expect(try scan("token,token\n\(hex(1))").faults == ["t:1: the header names \"token\" twice"])
    }

    @Test("Only the first line that says anything can be a header")
    func lateHeader() throws {
        let found = try scan(hex(1) + "\ntoken\n")
        #expect(found.faults == ["t:2: the token is not hexadecimal: byte 0 is not one of 0-9, a-f, A-F"])
    }

    @Test("Packed tokens stand end to end; a rest is a mistake")
    func packed() throws {
        let bytes = token(1) + token(10) + token(3)
        let found = try scan(bytes, .format(.packed), pieces: 7)
        #expect(found.tokens == [token(1), token(10), token(3)])
        #expect(found.place == TokenFilePlace(offset: 96, lines: 0, tokens: 3))
        #expect(
            try scan(bytes.dropLast(), .format(.packed), pieces: 40).faults
                == ["t: found 95 bytes; allowed: 32 for each packed token"]
        )
    }

    @Test("A token behind its length may have any")
    func prefixed() throws {
        let long = [UInt8](repeating: 7, count: 100)
        let bytes = [32] + token(1) + [100] + long + [32] + token(2)
        for pieces in [1, 33, 1000] {
            #expect(try scan(bytes, .prefixed, pieces: pieces).tokens == [token(1), long, token(2)])
        }
    }

    @Test("Wherever a piece ends, tokens, faults and places are the same; from any place the rest is found")
    func borders() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<60 {
            var text = random.chance(50) ? "a,token\n" : ""
            let isSecond = !text.isEmpty
            for _ in 0..<random.pick(1...40) {
                let digits = Hex.encode(random.bytes(random.one(of: [32, 32, 32, 32, 64, 3])))
                let before = isSecond ? "," : ""
                let line = random.one(of: [
                    digits, digits, digits, "  \(digits)\t", "\"\(digits)\"", "# \(digits)", "", "x\(digits)",
                    String(repeating: "ab", count: 5000), digits + ",\"unclosed",
                ])
                text += before + line + random.one(of: ["\n", "\n", "\r\n"])
            }
            if random.chance(50) { text.removeLast() }
            let bytes = Array(text.utf8)
            let whole = try scan(bytes, pieces: bytes.count)
            var places: [(TokenFilePlace, Int)] = []
            for pieces in [1, 2, 63, 64, 65, 66, 1000] {
                var taken = 0
                let found = try scan(bytes, pieces: pieces) { place in
                    taken = place.tokens
                    places.append((place, taken))
                }
                #expect(found == whole, "\(pieces)")
            }
            let (place, before) = random.one(of: places)
            let rest = Array(bytes[Int(place.offset)...])
            let found = try scan(rest, from: place, pieces: 100)
            #expect(found.tokens == Array(whole.tokens[before...]))
            #expect(found.place == whole.place)
        }
    }

    private func scan(_ text: String, lengths: ClosedRange<Int> = 32...100) throws -> Found {
        try scan(Array(text.utf8), lengths: lengths, pieces: 1000)
    }

    private func scan(
        _ bytes: some Collection<UInt8>,
        _ form: TokenScanner.Form = .format(.lines),
        lengths: ClosedRange<Int> = 32...100,
        from place: TokenFilePlace = TokenFilePlace(),
        pieces: Int,
        onPiece: (TokenFilePlace) -> Void = { _ in }
    ) throws -> Found {
        let bytes = Array(bytes)
        var scanner = TokenScanner(form, name: "t", lengths: lengths, from: place)
        var found = Found()
        for start in stride(from: 0, to: bytes.count, by: max(1, pieces)) {
            let piece = Array(bytes[start..<min(bytes.count, start + pieces)])
            try piece.withUnsafeBytes { try scanner.scan($0) { found.tokens.append(Array($0)) } }
            onPiece(scanner.place)
        }
        try scanner.finish { found.tokens.append(Array($0)) }
        found.faults = scanner.faults.lines
        found.place = scanner.place
        return found
    }
}

extension SeededGenerator {
    fileprivate mutating func one<Element>(of elements: [Element]) -> Element {
        elements[pick(0...elements.count - 1)]
    }
}

/// 32 bytes that begin with `number`.
private func token(_ number: UInt8) -> [UInt8] {
    [number] + [UInt8](repeating: 0xAB, count: 31)
}

private func hex(_ number: UInt8) -> String {
    Hex.encode(token(number))
}
