import TestSupport
import Testing

@testable import PipelineCore

@Suite("Positions taken over by an owner that differs")
struct PositionInheritanceTests {
    private let news = AppHash(value: 5)

    private func position(_ offset: Int64, _ token: UInt32) -> DoneRanges.Position {
        .init(offset: offset, token: token)
    }

    private func laggard(_ topic: AppHash, _ cursor: Int64, _ runs: Range<Int64>...) -> PositionMetadata.Laggard {
        var done = DoneRanges()
        for run in runs { done.append(position(run.lowerBound, 0)..<position(run.upperBound, 0)) }
        return .init(topic: topic, cursor: cursor, done: done)
    }

    private func metadata(edition: UInt8, _ laggards: PositionMetadata.Laggard...) throws -> PositionMetadata {
        let position = PositionMetadata.choose(
            laggards.map { ($0.topic, $0.cursor) },
            liveNext: 100,
            limitBytes: 4096,
            edition: edition
        ) { topic, _ in laggards.first { $0.topic == topic }?.done ?? DoneRanges() }
        return try PositionMetadata(decoding: position.metadata, committedOffset: 100)
    }

    @Test("Metadata is for its offset alone, and says so where it names topics")
    func mark() throws {
        let position = PositionMetadata.choose(
            [(news, 40), (.refused, 30)],
            liveNext: 100,
            limitBytes: 4096,
            edition: 7
        ) {
            _,
            _ in DoneRanges()
        }
        let told = try PositionMetadata(decoding: position.metadata, committedOffset: 100)
        #expect(told.edition == 7 && told.laggards.map(\.cursor) == [30, 40])
        #expect(throws: PositionMetadata.DecodingError.madeFor(offset: 100, lowest: 30)) {
            try PositionMetadata(decoding: position.metadata, committedOffset: 99)
        }
    }

    @Test("Without a mark, as earlier versions wrote it, metadata is taken for that of its offset by no known edition")
    func withoutMark() throws {
        let told = try PositionMetadata(decoding: "3;AAAAAAAAAAAAAAC;0:0.0-0.1", committedOffset: 100)
        #expect(told.edition == PositionMetadata.unknownEdition)
        #expect(told.laggards.map(\.cursor) == [2] && told.laggards.first?.done.runs.count == 1)
    }

    @Test("A mark comes first, once, and has no done ranges")
    func misplacedMark() throws {
        let text = PositionMetadata.choose([(news, 40)], liveNext: 100, limitBytes: 4096) { _, _ in DoneRanges() }
            .metadata
        let mark = text.dropFirst(2).prefix(15)
        for text in ["3;\(text.suffix(15))\(mark)", "3;\(mark)\(mark)", "3;\(mark)\(text.suffix(15));0:0.0-0.1"] {
            #expect(throws: PositionMetadata.DecodingError.malformed) {
                try PositionMetadata(decoding: text, committedOffset: 100)
            }
        }
    }

    @Test("The same edition takes cursors as they are")
    func sameEdition() throws {
        var metadata = try metadata(edition: 3, laggard(.refused, 10), laggard(news, 40, 50..<60))
        let before = metadata
        let differs = metadata.adapt(to: 3, committedOffset: 100)
        #expect(!differs && metadata == before)
    }

    @Test("Without refused records another edition changes no cursor")
    func nothingRefused() throws {
        var metadata = try metadata(edition: 3, laggard(news, 40, 50..<60))
        let before = metadata
        let differs = metadata.adapt(to: 4, committedOffset: 100)
        #expect(differs && metadata == before)
    }

    @Test("Where nothing lags, no edition differs", arguments: ["3;", "4;AAAAAAAAFoX;"])
    func nothingLags(text: String) throws {
        var metadata = try PositionMetadata(decoding: text, committedOffset: 100)
        let differs = metadata.adapt(to: 4, committedOffset: 100)
        #expect(!differs)
    }

    @Test("Another edition, or one that is not known, leaves a topic done only where the refused records are, too")
    func otherEdition() throws {
        for edition in [PositionMetadata.unknownEdition, 3] {
            var metadata = try metadata(
                edition: edition,
                laggard(.refused, 10, 20..<55),
                laggard(news, 40, 50..<60, 70..<80)
            )
            let differs = metadata.adapt(to: 4, committedOffset: 100)
            #expect(differs)
            #expect(metadata.laggards == [laggard(.refused, 10, 20..<55), laggard(news, 10, 20..<40, 50..<55)])
        }
    }

    @Test("From the offset on, which a topic without a name may hold, refused records are done for no other edition")
    func heldOffset() throws {
        for (refused, rest) in [
            (laggard(.refused, 120, 130..<140), laggard(.refused, 100)),
            (laggard(.refused, 90, 95..<110), laggard(.refused, 90, 95..<100)),
        ] {
            var metadata = PositionMetadata()
            metadata.edition = 3
            metadata.laggards = [refused, laggard(news, 120)]
            let before = metadata
            let same = metadata.adapt(to: 3, committedOffset: 100)
            #expect(!same && metadata == before)
            let differs = metadata.adapt(to: 4, committedOffset: 100)
            #expect(differs && metadata.refused == rest)
        }
    }

    @Test("What is done for two classes is what is done for each", arguments: 0..<200 as Range<UInt64>)
    func common(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func any(_ topic: AppHash) -> PositionMetadata.Laggard {
            var laggard = PositionMetadata.Laggard(topic: topic, cursor: Int64(random.pick(0...20)))
            var start = position(laggard.cursor, UInt32(random.pick(0...2)))
            for _ in 0..<random.pick(0...6) {
                let end = position(start.offset + Int64(random.pick(1...5)), UInt32(random.pick(0...2)))
                laggard.done.append(start..<end)
                start = position(end.offset + Int64(random.pick(0...3)), end.token + UInt32(random.pick(1...2)))
            }
            return laggard
        }
        func says(_ laggard: PositionMetadata.Laggard, _ place: DoneRanges.Position) -> Bool {
            place.offset < laggard.cursor || laggard.done.contains(place)
        }
        let (one, other) = (any(news), any(.refused))
        var common = one
        common.keep(doneIn: other)
        for offset in 0..<70 as Range<Int64> {
            for token in 0..<5 as Range<UInt32> {
                let place = position(offset, token)
                #expect(says(common, place) == (says(one, place) && says(other, place)), "\(place)")
            }
        }
    }

    @Test("A record is done as a whole only if one run has all of it")
    func whole() {
        var done = DoneRanges()
        done.append(position(3, 1)..<position(5, 2))
        done.append(position(7, 0)..<position(8, 0))
        #expect((2...8).map { done.containsAll(of: $0) } == [false, false, true, false, false, true, false])
        var frontier = CommitFrontier()
        let part = frontier.append(offset: 5, tokens: 3, alreadyDone: done, isWhole: true)
        let whole = frontier.append(offset: 7, tokens: 3, alreadyDone: done, isWhole: true)
        #expect(frontier.remaining(of: part) == 3 && frontier.remaining(of: whole) == 0)
    }
}
