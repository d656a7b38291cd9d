import TestSupport
import Testing

@testable import PipelineCore

/// The metadata that a commit carries beside its offset.
@Suite struct PositionMetadataTests {
    private typealias DecodingError = PositionMetadata.DecodingError

    private func topic(_ value: UInt64) -> AppHash { AppHash(value: value) }

    private func position(_ offset: Int64, _ token: UInt32) -> DoneRanges.Position {
        .init(offset: offset, token: token)
    }

    private func runs(_ runs: (Int64, UInt32, Int64, UInt32)...) -> DoneRanges {
        var ranges = DoneRanges()
        for run in runs { ranges.append(position(run.0, run.1)..<position(run.2, run.3)) }
        return ranges
    }

    private func choose(
        _ cursors: [(AppHash, Int64)],
        liveNext: Int64 = 1000,
        limitBytes: Int = 4096,
        ranges: [AppHash: DoneRanges] = [:]
    ) -> PositionMetadata.Position {
        let laggards = cursors.map { (topic: $0.0, cursor: $0.1) }
        return PositionMetadata.choose(laggards, liveNext: liveNext, limitBytes: limitBytes) { topic, _ in
            ranges[topic] ?? DoneRanges()
        }
    }

    private func decode(_ position: PositionMetadata.Position) throws -> PositionMetadata {
        try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
    }

    // MARK: Choosing

    @Test("Without laggards the offset is that of the live reader, and the text is the version alone")
    func nothing() throws {
        let position = choose([])
        #expect(position == .init(offset: 1000, metadata: "3;"))
        #expect(try decode(position) == PositionMetadata())
    }

    @Test("The text form has 15 characters for mark and name, then each topic's runs relative to its cursor")
    func text() throws {
        let position = choose(
            [(topic(1), 2), (topic(0xFF_FFFF_FEFF), (1 << 48) - 1), (topic(0), 0)],
            liveNext: .max,
            ranges: [topic(1): runs((2, 1, 3, 0), (10, 0, 46, 2)), topic(0): runs((5, 0, 5, 4))]
        )
        #expect(
            position.metadata
                == "3;_____wD_P______AAAAAAAAAAAAAAAAAAAAAEAAAAAAAC_____v__P______"
                + ";1:5.0-0.4;2:0.1-1.0,7.0-10.2"
        )
    }

    @Test("A salt stands before the names and takes their room; it comes back, also when an operator moves the offset")
    func salted() throws {
        let salt = AppSalt(.max)
        let position = PositionMetadata.choose(
            [(topic(1), 2)],
            liveNext: 5,
            salt: salt,
            limitBytes: 4096
        ) { _, _ in runs((2, 1, 3, 0)) }
        #expect(position.metadata == "4;P__________;_____wAAAAAAAAFAAAAAAEAAAAAAAC;1:0.1-1.0")
        let metadata = try decode(position)
        #expect(metadata.salt == salt && metadata.laggards.map(\.topic) == [topic(1)])
        let moved = metadata.moved(to: 3).position(at: 3, limitBytes: 4096)
        #expect(moved?.metadata == "4;P__________;_____wAAAAAAAADAAAAAAEAAAAAAAC;1:0.1-1.0")
        #expect(metadata.moved(to: 1).position(at: 1, limitBytes: 4096)?.metadata == "4;P__________;")
        #expect(PositionMetadata.capacity(limitBytes: 44, salt: salt) == 1)
        #expect(PositionMetadata.capacity(limitBytes: 4096, salt: salt) == 271)
        for text in ["4;", "4;P__________", "4;P_________;", "4;AAAAAAAAAAA;", "4;P_____~____;"] {
            #expect(throws: DecodingError.malformed, "\(text)") {
                try PositionMetadata(decoding: text, committedOffset: 5)
            }
        }
    }

    @Test("Laggards come back as they were, the lowest cursor first, for names in any order")
    func roundTrip() throws {
        let done = runs((70, 3, 71, 0), (75, 0, 80, 1))
        let position = choose([(topic(9), 500), (topic(5), 70), (topic(7), 70)], ranges: [topic(5): done])
        #expect(position == choose([(topic(7), 70), (topic(9), 500), (topic(5), 70)], ranges: [topic(5): done]))
        #expect(position.offset == 1000 && position.unnamed == 0)
        let laggards: [PositionMetadata.Laggard] = [
            .init(topic: topic(5), cursor: 70, done: done), .init(topic: topic(7), cursor: 70),
            .init(topic: topic(9), cursor: 500),
        ]
        #expect(try decode(position).laggards == laggards)
    }

    @Test("Topics without room hold the offset at the lowest of their cursors; the lowest of all are named")
    func capacity() throws {
        #expect(PositionMetadata.capacity(limitBytes: 47) == 2)
        #expect(PositionMetadata.capacity(limitBytes: 46) == 1)
        #expect(PositionMetadata.capacity(limitBytes: 4096) == 271)
        #expect(PositionMetadata.capacity(limitBytes: 0) == 0)
        let cursors: [(AppHash, Int64)] = [(topic(1), 40), (topic(2), 10), (topic(3), 30), (topic(4), 20)]
        let position = choose(cursors, limitBytes: 47)
        #expect(position.offset == 30 && position.unnamed == 2 && position.metadata.utf8.count == 47)
        #expect(try decode(position).laggards.map(\.topic) == [topic(2), topic(4)])
    }

    @Test("Names come before done ranges: a text full of names has none, and ranges never cost a name")
    func namesFirst() throws {
        let all = runs((0, 0, 0, 1), (0, 2, 0, 3))
        let cursors = (2..<300 as Range<UInt64>).map { (topic($0), Int64(0)) }
        let ranges = Dictionary(uniqueKeysWithValues: cursors.map { ($0.0, all) })
        let full = try decode(choose(cursors, limitBytes: 4090, ranges: ranges))
        #expect(full.laggards.count == 271 && full.laggards.allSatisfy(\.done.isEmpty))
        let some = try decode(choose(Array(cursors.prefix(200)), ranges: ranges))
        #expect(some.laggards.count == 200)
        #expect(some.laggards[0].done == all && some.laggards[199].done.isEmpty)
    }

    @Test("Done ranges take the room behind the names while the shortest run fits", arguments: [(42, 0), (43, 1)])
    func shortestRun(limitBytes: Int, count: Int) throws {
        // Version, mark, name and the index of the topic are 35 bytes.
        let position = choose([(topic(5), 70)], limitBytes: limitBytes, ranges: [topic(5): runs((70, 1, 71, 0))])
        #expect(try decode(position).laggards.map(\.done.runs.count) == [count])
    }

    @Test("Done ranges before the cursor are left out")
    func rangesBeforeTheCursor() throws {
        let position = choose(
            [(topic(5), 70)],
            ranges: [topic(5): runs((60, 0, 65, 0), (69, 1, 71, 0), (72, 0, 73, 0))]
        )
        #expect(try decode(position).laggards[0].done == runs((70, 0, 71, 0), (72, 0, 73, 0)))
    }

    @Test("A cursor that needs more than 48 bits has no name and holds the offset")
    func largeCursors() throws {
        let limit: Int64 = 1 << 48
        let position = choose([(topic(5), limit - 1), (topic(6), limit), (topic(7), limit + 5)], liveNext: limit + 9)
        #expect(position.offset == limit && position.unnamed == 2)
        #expect(try decode(position).laggards == [.init(topic: topic(5), cursor: limit - 1)])
    }

    @Test(
        "Any choice is read back: names whole, done ranges from the front, within the limit",
        arguments: 0..<100 as Range<UInt64>
    )
    func anyChoice(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let limit = random.pick(32...600)
        var ranges: [AppHash: DoneRanges] = [:]
        var cursors: [(AppHash, Int64)] = []
        for _ in 0..<random.pick(0...45) {
            let topic = topic(UInt64.random(in: 0..<1 << 39, using: &random))
            let cursor = Int64(random.pick(0...random.pick(0...1 << 40)))
            var at = DoneRanges.Position(offset: cursor, token: UInt32(random.pick(0...3)))
            var done = DoneRanges()
            for _ in 0..<random.pick(0...6) {
                let end = DoneRanges.Position(offset: at.offset + Int64(random.pick(1...9)), token: 0)
                done.append(at..<end)
                at = DoneRanges.Position(offset: end.offset + 1, token: 1)
            }
            ranges[topic] = done
            cursors.append((topic, cursor))
        }
        let position = choose(cursors, liveNext: 1 << 41, limitBytes: limit, ranges: ranges)
        #expect(position.metadata.utf8.count <= limit)
        let told = try decode(position)
        #expect(told.laggards.count == min(cursors.count, PositionMetadata.capacity(limitBytes: limit)))
        #expect(position.unnamed == cursors.count - told.laggards.count)
        let sorted = cursors.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        for (laggard, expected) in zip(told.laggards, sorted) {
            #expect(laggard.topic == expected.0 && laggard.cursor == expected.1)
            let all = try #require(ranges[laggard.topic]).runs
            #expect(laggard.done.runs == Array(all.prefix(laggard.done.runs.count)))
        }
        #expect(position.offset == (sorted.dropFirst(told.laggards.count).first?.1 ?? 1 << 41))
    }

    @Test("The offset never goes back, however topics come, lag and settle", arguments: 0..<100 as Range<UInt64>)
    func monotone(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var cursors: [AppHash: Int64] = [:]
        var liveNext: Int64 = 0
        var offset: Int64 = 0
        for _ in 0..<300 {
            switch random.pick(0...3) {
            case 0:
                // A record comes, of a topic that has all done before it or is behind already.
                let topic = topic(UInt64(random.pick(0...15)))
                cursors[topic] = cursors[topic] ?? liveNext
                liveNext += Int64(random.pick(1...20))
            case 1:
                liveNext += 1
            case 2:
                guard let behind = cursors.keys.sorted().randomElement(using: &random) else { break }
                cursors[behind] = min(liveNext, (cursors[behind] ?? 0) + Int64(random.pick(1...40)))
            default:
                guard let behind = cursors.keys.sorted().randomElement(using: &random) else { break }
                cursors[behind] = nil
            }
            let laggards = cursors.filter { $0.value < liveNext }.map { ($0.key, $0.value) }
            let position = choose(laggards, liveNext: liveNext, limitBytes: 62)
            #expect(position.offset >= offset)
            #expect(position.offset <= liveNext)
            let named = Set(try decode(position).laggards.map(\.topic))
            #expect(laggards.allSatisfy { named.contains($0.0) || $0.1 >= position.offset })
            offset = position.offset
        }
    }

    // MARK: Reading

    @Test("An empty text is missing, and a version that this program does not know is said to be so")
    func versions() {
        #expect(throws: DecodingError.missing) { try PositionMetadata(decoding: "", committedOffset: 5) }
        for text in ["1;", "1;0.0-1.0", "2;", "5;AAAAAAAAAAAAAAA", "3", "4", "x", "33;", " 3;", "10;1.0-1.0", ";"] {
            #expect(throws: DecodingError.unknownVersion) { try PositionMetadata(decoding: text, committedOffset: 5) }
        }
    }

    @Test(
        "A malformed text is never half believed",
        arguments: [
            "3;A", "3;AAAAAAAAAAAAAA", "3;AAAAAAAAAAAAAAAA", "3;AAAAAAAAAAAAAA*", "3;AAAAAAAAAAAAAAé",
            // The low half has 40 bits in 42; one topic twice; runs without topic, without index, without runs, wrong
            // runs.
            "3;AAAAAAAA_AAAAAA", "3;AAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", "3;;0:0.0-0.1", "3;AAAAAAAAAAAAAAA;1:0.0-0.1",
            "3;AAAAAAAAAAAAAAA;-1:0.0-0.1", "3;AAAAAAAAAAAAAAA;:0.0-0.1",
            "3;AAAAAAAAAAAAAAA;0:", "3;AAAAAAAAAAAAAAA;0",
            "3;AAAAAAAAAAAAAAA;", "3;AAAAAAAAAAAAAAA;0:0.1-0.1", "3;AAAAAAAAAAAAAAA;0:0.0-0.1,",
            "3;AAAAAAAAAAAAAAA;0:0.0-0.1 ",
            "3;AAAAAAAAAAAAAAA;0:1;0.0-0.1", "3;AAAAAAAAAAAAAAA;0:zzzzzzzzzzzzzzz.0-0.1",
        ]
    )
    func malformed(text: String) {
        #expect(throws: DecodingError.malformed) { try PositionMetadata(decoding: text, committedOffset: 5) }
    }

    @Test(
        "A text that was damaged is refused or read as something, and never a crash",
        arguments: 0..<50 as Range<UInt64>
    )
    func damaged(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = choose([(topic(9), 500), (topic(5), 70)], ranges: [topic(5): runs((70, 3, 71, 0), (75, 0, 80, 1))])
        for _ in 0..<200 {
            var bytes = Array(whole.metadata.utf8)
            for _ in 0..<random.pick(1...3) {
                let index = random.pick(0...bytes.count - 1)
                if random.chance(50) { bytes[index] = UInt8(random.pick(32...126)) } else { bytes.remove(at: index) }
            }
            let told = try? PositionMetadata(decoding: String(decoding: bytes, as: UTF8.self), committedOffset: 1000)
            #expect(told.map { $0.laggards.count <= 3 && $0.laggards.allSatisfy { $0.cursor >> 48 == 0 } } ?? true)
        }
    }
}
