import PipelineCore
import Testing

@testable import belfry_chaos

@Suite("What the broker may forget in a chaos run")
struct LogTrimTests {
    private func stored(_ laggards: [(topic: AppHash, cursor: Int64)]) -> PositionMetadata.Position {
        PositionMetadata.choose(laggards, liveNext: 9000, limitBytes: 4096) { _, _ in DoneRanges() }
    }

    private func trim(_ position: PositionMetadata.Position, seen: Int64 = 9000) -> Int64? {
        LogTrim.requests(committed: position.offset, position.metadata, seen: seen)
    }

    @Test("Requests are kept from the lowest cursor on, which lies before the committed offset")
    func laggards() {
        let topics = ["com.example.news", "com.example.sport"].map { AppHash(bundleID: $0, environment: "") }
        #expect(trim(stored([])) == 8000)
        #expect(trim(stored([(topics[0], 7000), (topics[1], 5000)])) == 4000)
        #expect(trim(stored([(topics[0], 1000)])) == nil)
    }

    @Test("Requests are kept that this program has not read")
    func unread() {
        #expect(trim(stored([]), seen: 3000) == 2000)
        #expect(trim(stored([]), seen: 0) == nil)
    }

    @Test("Everything is kept where nothing, or nothing that can be read, is committed")
    func unreadable() {
        #expect(LogTrim.requests(committed: -1001, "", seen: 9000) == nil)
        #expect(LogTrim.requests(committed: 9000, "9:", seen: 9000) == nil)
    }

    @Test("Outcomes are kept that were not read, and a few that were")
    func outcomes() {
        #expect(LogTrim.outcomes(seen: 1000) == nil)
        #expect(LogTrim.outcomes(seen: 1001) == 1)
    }

    @Test("What is applied to the token state is kept from where it would be applied again")
    func applied() {
        let mark = ReplayMark(servers: ["a1"], start: 5000).metadata
        #expect(LogTrim.applied(committed: 9000, mark) == 4000)
        #expect(LogTrim.applied(committed: 3000, mark) == 2000)
        #expect(LogTrim.applied(committed: 9000, "") == nil)
        #expect(LogTrim.applied(committed: -1001, mark) == nil)
    }
}
