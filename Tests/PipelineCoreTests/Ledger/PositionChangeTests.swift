import Testing

@testable import PipelineCore

@Suite("Changing a committed position by hand")
struct PositionChangeTests {
    private let news = AppHash(bundleID: "com.example.news", environment: "")
    private let chat = AppHash(bundleID: "com.example.chat", environment: "sandbox")
    private let mail = AppHash(bundleID: "com.example.mail", environment: "")

    @Test("Moved ahead, the offset leaves every laggard its cursor and what is done of it")
    func ahead() throws {
        let before = metadata([(news, 10, [12..<14]), (chat, 40, [])])
        #expect(try committed(before.moved(to: 500), at: 500) == before)
    }

    @Test("Moved back, the offset keeps the names below it; the other topics are sent again from it on")
    func back() throws {
        let before = metadata([(news, 10, [12..<14]), (chat, 40, [45..<46]), (mail, 30, [])])
        let after = try committed(before.moved(to: 30), at: 30)
        #expect(after == metadata([(news, 10, [12..<14])]))
    }

    @Test("A cursor moved ahead keeps what is done beyond it and touches no other topic")
    func cursorAhead() throws {
        let before = metadata([(news, 10, [12..<14, 20..<25]), (chat, 40, [45..<46])])
        let after = try committed(before.moving(news, to: 22, committedOffset: 100), at: 100)
        #expect(after == metadata([(news, 22, [22..<25]), (chat, 40, [45..<46])]))
    }

    @Test("A cursor moved back forgets what is done: everything from it on is sent again")
    func cursorBack() throws {
        let before = metadata([(news, 10, [12..<14]), (chat, 40, [45..<46])])
        let after = try committed(before.moving(chat, to: 5, committedOffset: 100), at: 100)
        #expect(after == metadata([(chat, 5, []), (news, 10, [12..<14])]))
    }

    @Test("A cursor moved to where it stands keeps what is done")
    func cursorStays() throws {
        let before = metadata([(news, 10, [12..<14]), (chat, 40, [])])
        #expect(try committed(before.moving(news, to: 10, committedOffset: 100), at: 100) == before)
    }

    @Test("A topic that was not behind is behind from its new cursor on")
    func newName() throws {
        let after = try committed(metadata([(news, 10, [])]).moving(mail, to: 20, committedOffset: 100), at: 100)
        #expect(after == metadata([(news, 10, []), (mail, 20, [])]))
    }

    @Test("A cursor at the committed offset is none: the topic is not behind")
    func caughtUp() throws {
        let before = metadata([(news, 10, [12..<14]), (chat, 40, [])])
        let after = try committed(before.moving(news, to: 100, committedOffset: 100), at: 100)
        #expect(after == metadata([(chat, 40, [])]))
    }

    @Test("Names that do not all fit make no position, for an unnamed topic would lose what is before the offset")
    func full() {
        let capacity = PositionMetadata.capacity(limitBytes: 64)
        var full = PositionMetadata()
        full.laggards = (0..<capacity).map { .init(topic: AppHash(value: UInt64($0 + 2)), cursor: Int64($0)) }
        #expect(full.position(at: 100, limitBytes: 64)?.offset == 100)
        let more = full.moving(AppHash(value: 1000), to: 50, committedOffset: 100)
        #expect(more.position(at: 100, limitBytes: 64) == nil)
    }

    @Test("No laggards are said in words that are not empty, so that the next worker raises no alarm")
    func nobodyBehind() throws {
        let position = try #require(PositionMetadata().position(at: 7, limitBytes: 4096))
        #expect(position.offset == 7)
        #expect(try PositionMetadata(decoding: position.metadata, committedOffset: 7) == PositionMetadata())
    }

    /// The metadata that a worker reads from the position.
    private func committed(_ metadata: PositionMetadata, at offset: Int64) throws -> PositionMetadata {
        let position = try #require(metadata.position(at: offset, limitBytes: 4096))
        #expect(position.offset == offset)
        return try PositionMetadata(decoding: position.metadata, committedOffset: offset)
    }

    private func metadata(_ topics: [(AppHash, Int64, [Range<Int64>])]) -> PositionMetadata {
        var metadata = PositionMetadata()
        for (topic, cursor, runs) in topics {
            var done = DoneRanges()
            for run in runs {
                let start = DoneRanges.Position(offset: run.lowerBound, token: 0)
                done.append(start..<DoneRanges.Position(offset: run.upperBound, token: 0))
            }
            metadata.laggards.append(.init(topic: topic, cursor: cursor, done: done))
        }
        return metadata
    }
}
