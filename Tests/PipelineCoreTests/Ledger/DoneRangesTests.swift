import TestSupport
import Testing

@testable import PipelineCore

@Suite struct DoneRangesTests {
    private typealias Position = DoneRanges.Position

    private func position(_ offset: Int64, _ token: UInt32) -> DoneRanges.Position {
        .init(offset: offset, token: token)
    }

    @Test("Touching runs become one, empty ones vanish")
    func touching() {
        var ranges = DoneRanges()
        ranges.append(position(1, 0)..<position(1, 3))
        ranges.append(position(1, 3)..<position(1, 3))
        ranges.append(position(1, 3)..<position(2, 0))
        #expect(ranges.runs == [position(1, 0)..<position(2, 0)])
    }

    @Test("The text form has numbers in base 36, offsets relative to the one before, and exclusive ends")
    func text() throws {
        var ranges = DoneRanges()
        ranges.append(position(1000, 2)..<position(1001, 0))
        ranges.append(position(1036, 40)..<position(1072, 1))
        let text = ranges.encoded(committedOffset: 1000, limitBytes: 4096)
        #expect(text == "1;0.2-1.0,z.14-10.1")
        #expect(try DoneRanges(decoding: text, committedOffset: 1000) == ranges)
    }

    @Test("No runs, no text; an empty text is no runs")
    func empty() throws {
        #expect(DoneRanges().encoded(committedOffset: 5, limitBytes: 4096) == "")
        #expect(try DoneRanges(decoding: "", committedOffset: 5).isEmpty)
    }

    @Test("Any runs survive the text form; what is cut off is whole runs at the end", arguments: trials(200))
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let committed = random.chance(5) ? Int64.max - 100_000 : .random(in: 0...(1 << 40), using: &random)
        var ranges = DoneRanges()
        var at = position(committed, 0)
        for _ in 0..<Int.random(in: 1...80, using: &random) {
            let start = later(than: at, &random)
            at = later(than: start, &random)
            ranges.append(start..<at)
        }
        let text = ranges.encoded(committedOffset: committed, limitBytes: .max)
        #expect(try DoneRanges(decoding: text, committedOffset: committed) == ranges)
        for limit in 0..<min(text.utf8.count + 2, 400) {
            let cut = ranges.encoded(committedOffset: committed, limitBytes: limit)
            #expect(cut.utf8.count <= limit)
            let decoded = try DoneRanges(decoding: cut, committedOffset: committed)
            #expect(decoded.runs == Array(ranges.runs.prefix(decoded.runs.count)))
        }
        for run in ranges.runs {
            #expect(ranges.contains(run.lowerBound) && !ranges.contains(run.upperBound))
        }
        #expect(!ranges.contains(position(committed, 0)) || ranges.runs.first?.lowerBound == position(committed, 0))
    }

    private func later(than position: Position, _ random: inout SeededGenerator) -> Position {
        if random.chance(50) {
            return Position(offset: position.offset, token: position.token + .random(in: 1...50, using: &random))
        }
        return Position(
            offset: position.offset + .random(in: 1...900, using: &random),
            token: random.chance(50) ? 0 : .random(in: 0...100_000, using: &random)
        )
    }

    @Test(
        "Hostile metadata is an error, never a trap",
        arguments: [
            "2;0.0-1.0", "1", "1:", "x", ";", "1\u{37E}0.0-1.0", "1;\u{301}0.0-1.0", "1;", "1;,", "1;0", "1;0.0",
            "1;0.0-",
            "1;0.0-1", "1;0.0-1.", "1;0.0-1.0,", "1;0.0-1.0,,", "1;0.0-1.0;", "1;0.0-1.0 ", "1; 0.0-1.0", "1;-1.0-1.0",
            "1;0.0-0.0", "1;1.0-0.0", "1;0.5-0.4", "1;0.0-1.0,0.0-1.0", "1;0.A-1.0", "1;0.0-1.1z141z4",
            "1;1y2p0ij32e8e8.0-1.0", "1;1y2p0ij32e8e7.0-1y2p0ij32e8e7.0", "1;zzzzzzzzzzzzzzzzzzzzzzzz.0-1.0",
            "1;0.0-1.0,1y2p0ij32e8e7.0-1.0", "\u{0}", "null", "{\"a\":1}",
        ]
    )
    func hostile(text: String) {
        #expect(throws: DoneRanges.DecodingError.self) { try DoneRanges(decoding: text, committedOffset: 100) }
    }

    @Test("Random damage to metadata is an error or other runs, never a trap", arguments: 1...100)
    func damage(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("0123456789az.-,;1\u{0}é".unicodeScalars)
        for _ in 0..<200 {
            var scalars = Array("1;0.2-1.0,z.14-10.1,5.0-6.7".unicodeScalars)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<scalars.count, using: &random)
                let scalar = alphabet.randomElement(using: &random) ?? "0"
                if random.chance(50) { scalars[index] = scalar } else { scalars.insert(scalar, at: index) }
            }
            let text = String(String.UnicodeScalarView(scalars))
            guard let decoded = try? DoneRanges(decoding: text, committedOffset: 7) else { continue }
            let again = decoded.encoded(committedOffset: 7, limitBytes: .max)
            #expect(try DoneRanges(decoding: again, committedOffset: 7) == decoded)
        }
    }

    @Test("Dropping keeps the runs, and parts of runs, from an offset on")
    func dropping() {
        var ranges = DoneRanges()
        ranges.append(position(5, 1)..<position(6, 0))
        ranges.append(position(8, 2)..<position(12, 3))
        ranges.append(position(20, 0)..<position(20, 4))
        #expect(ranges.dropping(before: 0) == ranges && ranges.dropping(before: 5) == ranges)
        #expect(ranges.dropping(before: 6).runs == Array(ranges.runs.dropFirst()))
        #expect(ranges.dropping(before: 8).runs == Array(ranges.runs.dropFirst()))
        #expect(ranges.dropping(before: 9).runs == [position(9, 0)..<position(12, 3), ranges.runs[2]])
        #expect(ranges.dropping(before: 12).runs == [position(12, 0)..<position(12, 3), ranges.runs[2]])
        #expect(ranges.dropping(before: 13).runs == [ranges.runs[2]])
        #expect(ranges.dropping(before: 21).isEmpty && DoneRanges().dropping(before: 3).isEmpty)
    }
}
