import TestSupport
import Testing

@testable import PipelineCore

/// The metadata of commits to push.parked, and the positions in headers of copies.
@Suite struct ParkedLagsTests {
    private func range(_ first: Int64, _ last: Int64) -> DoneRanges {
        var done = DoneRanges()
        done.append(.init(offset: first, token: 0)..<DoneRanges.Position(offset: last, token: 3))
        return done
    }

    @Test("What is encoded is decoded, done ranges too")
    func roundTrip() throws {
        var parked = ParkedLags()
        #expect(parked.encoded(committedOffset: 7, limitBytes: 4096).text == "")
        parked.lags = [
            .init(topic: .max, cursor: 1000),
            .init(topic: 35, cursor: 1036, done: range(1040, 1042)),
        ]
        parked.segments = ParkedSegments([
            .init(start: 1000, source: 36, writer: "w1"), .init(start: 1037, source: 72, writer: "x"),
        ])
        let encoding = parked.encoded(committedOffset: 1000, limitBytes: 4096)
        #expect(encoding == .init(text: "2|@0.10.w1|@11.20.x|3w5e11264sgsf.0|z.10:1;4.0-2.3"))
        #expect(try ParkedLags(decoding: encoding.text, committedOffset: 1000) == parked)
        #expect(try ParkedLags(decoding: "", committedOffset: 1000).isEmpty)
    }

    @Test("Within the limit the topics come first, then what is done; what has no room is said", arguments: 0..<40)
    func limits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var parked = ParkedLags()
        for topic in 0..<UInt64.random(in: 1...300, using: &random) {
            let cursor = Int64.random(in: 1000...9000, using: &random)
            parked.lags.append(.init(topic: topic << 40 | 1, cursor: cursor, done: range(cursor + 1, cursor + 9)))
        }
        let offset = try #require(parked.lags.map(\.cursor).min())
        let limit = Int.random(in: 200...4096, using: &random)
        let segments = (0..<Int64(ParkedLags.segmentLimit(limitBytes: limit))).map { number in
            ParkedSegments.Segment(start: offset + number * 1_000_000, source: .max - number, writer: "1z141z3")
        }
        parked.segments = ParkedSegments(segments)
        let encoding = parked.encoded(committedOffset: offset, limitBytes: limit)
        #expect(encoding.text.utf8.count <= limit)
        let decoded = try ParkedLags(decoding: encoding.text, committedOffset: offset)
        #expect(decoded.segments == parked.segments)
        #expect(decoded.othersMayLag == (decoded.lags.count < parked.lags.count))
        for original in parked.lags {
            let lag = decoded.lags.first { $0.topic == original.topic }
            #expect(encoding.incomplete.contains(original.topic) == (lag?.done != original.done))
            if let lag { #expect(original.cursor == lag.cursor && (lag.done.isEmpty || lag.done == original.done)) }
        }
    }

    @Test(
        "Text that is not ours is an error",
        arguments: [
            "1|a.0", "x", "2|a", "2|a.-1", "2|.0", "2|a.0|a.1", "2|a.0:junk", "2|a.1y2p0ij32e8e7", "1;0.0-1.0",
            "2|@0.0|a.0", "2|@0.0.|a.0", "2|@-1.0.w|a.0", "2|@0.-1.w|a.0", "2|@1.0.w|@1.0.v|a.0",
        ]
    )
    func malformed(text: String) {
        #expect(throws: ParkedLags.DecodingError.self) { try ParkedLags(decoding: text, committedOffset: 100) }
    }

    @Test("A topic's hash tells environments and bundles apart, and stays what it is")
    func hash() {
        let hash = ParkedLags.topicHash(environment: "sandbox", bundleID: "com.example.news")
        #expect(hash != ParkedLags.topicHash(environment: "sandboxcom", bundleID: ".example.news"))
        #expect(ParkedLags.topicHash(environment: "", bundleID: "") == 0xaf63_bd4c_8601_b7df)
    }

    @Test("Positions of tokens are written as people write them, and read again")
    func runs() throws {
        var runs = TokenRuns()
        for token in [0, 1, 2, 7, 9, 10] as [UInt32] { runs.append(token) }
        #expect(runs.text == "0-2,7,9-10")
        #expect(TokenRuns("0-2,7,9-10") == runs)
        #expect(runs.count == 6 && runs.first == 0)
        #expect((0..<12).filter { runs.contains($0) } == [0, 1, 2, 7, 9, 10])
        #expect(!runs.isAll(of: 6))
        #expect(TokenRuns("0-5")?.isAll(of: 6) == true)
        #expect(TokenRuns("1-6")?.isAll(of: 6) == false)
        for text in ["", "-", "3-1", "1,1", "2,1", "1-2,3", "a", "4294967295", "1-", "1--2", " 1"] {
            #expect(TokenRuns(text) == nil, "\(text)")
        }
    }
}
