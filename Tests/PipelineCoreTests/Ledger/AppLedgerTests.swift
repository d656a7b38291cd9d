import TestSupport
import Testing

@testable import PipelineCore

/// Hashes that tell the topics of a partition apart.
@Suite struct AppHashTests {
    @Test("The hash is the same in every version: it stands in commits")
    func fixed() {
        #expect(AppHash(bundleID: "com.example.news", environment: "production").value == 0x27_0712_4A0D)
        #expect(AppHash(bundleID: "", environment: "").value == 0xFD_CCB9_815D)
    }

    @Test(
        "Bundle and environment cannot pass for each other",
        arguments: [("b", "a"), ("", "ab"), ("ab", ""), ("a\0", "b")]
    )
    func different(bundleID: String, environment: String) {
        let hash = AppHash(bundleID: bundleID, environment: environment)
        #expect(hash != AppHash(bundleID: "a", environment: "b"))
    }

    @Test("Under a salt topics with one hash have two, which are the same in every version as well")
    func salted() {
        let names = ["com.example.twin540122", "com.example.twin618045"]
        func hashes(_ salt: AppSalt) -> Set<AppHash> {
            Set(names.map { AppHash(bundleID: $0, environment: "", salt: salt) })
        }
        #expect(hashes(.none).count == 1)
        #expect((1...1000).allSatisfy { hashes(AppSalt($0)).count == 2 })
        let all = Set((1...1000).flatMap { hashes(AppSalt($0)) })
        #expect(all.count == 2000 && all.allSatisfy { $0 > .others && $0.value >> 40 == 0 })
        let parted = ["a", "b"].map { AppHash(bundleID: $0, environment: $0 == "a" ? "b" : "a", salt: AppSalt(1)) }
        #expect(parted[0] != parted[1])
        let pinned = AppHash(bundleID: "com.example.news", environment: "production", salt: AppSalt(1))
        #expect(pinned.value == 0x80_7702_BFFE)
    }

    @Test("No topic has the hash of a class, all fit 40 bits, and hashes spread")
    func spread() {
        let hashes = (0..<20_000).map { AppHash(bundleID: "com.example.app\($0)", environment: "sandbox") }
        #expect(Set(hashes).count == hashes.count)
        #expect(hashes.allSatisfy { $0 > .others && $0.value >> 40 == 0 })
        let buckets = Dictionary(grouping: hashes) { $0.value >> 36 }.mapValues(\.count)
        #expect(buckets.count == 16 && buckets.values.allSatisfy { (1100...1400).contains($0) })
        #expect(AppHash.refused < .others)
    }
}

/// One topic's progress through one assignment.
@Suite struct AppLedgerTests {
    private var ledger = AppLedger(doneBelow: 10, alreadyDone: DoneRanges())

    private func position(_ offset: Int64, _ token: UInt32) -> DoneRanges.Position {
        .init(offset: offset, token: token)
    }

    private func runs(_ runs: (Int64, UInt32, Int64, UInt32)...) -> DoneRanges {
        var ranges = DoneRanges()
        for run in runs { ranges.append(position(run.0, run.1)..<position(run.2, run.3)) }
        return ranges
    }

    private mutating func take(_ offset: Int64, tokens: Int = 1) -> UInt32 {
        let record = ledger.addRecord(offset: offset, tokens: tokens, bytes: 5)
        ledger.advance()
        return record
    }

    @Test("A ledger begins live and idle; an empty gap is none")
    func fresh() {
        #expect(ledger.isLive && ledger.isIdle && ledger.cursor == nil)
        #expect(AppLedger(doneBelow: 0, alreadyDone: DoneRanges(), gap: 5..<5).isLive)
    }

    @Test("The cursor is the lowest record that is not done, and none once all are")
    mutating func cursor() {
        let first = take(12)
        let second = take(15)
        #expect(ledger.cursor == 12)
        ledger.markDone(second, token: 0)
        #expect(ledger.cursor == 12 && ledger.isDone(second, token: 0))
        ledger.markDone(first, token: 0)
        #expect(ledger.cursor == nil && ledger.isIdle)
    }

    @Test("Records that are passed over are a gap from the first to the last")
    mutating func passedOver() {
        ledger.passOver(20)
        ledger.passOver(30)
        #expect(ledger.gap?.next == 20 && ledger.gap?.last == 30)
        #expect(!ledger.isLive && !ledger.isIdle && ledger.cursor == 20)
    }

    @Test("A gap has the offsets from the next one to feed to the last one passed over")
    mutating func gapContains() throws {
        ledger.passOver(20)
        ledger.passOver(30)
        ledger.fed(upTo: 25)
        let gap = try #require(ledger.gap)
        #expect((19...31 as ClosedRange<Int64>).filter { gap.contains($0) } == Array(25...30))
    }

    @Test("Records taken in before the gap keep the cursor; then it follows what is fed")
    mutating func cursorOfGap() {
        let first = take(12)
        ledger.passOver(20)
        ledger.passOver(30)
        #expect(ledger.cursor == 12)
        ledger.markDone(first, token: 0)
        #expect(ledger.cursor == 20)
        let second = take(20)
        #expect(ledger.gap?.next == 21 && ledger.cursor == 20)
        ledger.markDone(second, token: 0)
        #expect(ledger.cursor == 21)
    }

    @Test("A topic is live again once a reader has come beyond the last record passed over, and not before")
    mutating func liveAgain() {
        ledger.passOver(20)
        ledger.passOver(30)
        let isLiveAtLast = ledger.fed(upTo: 30)
        #expect(!isLiveAtLast && ledger.gap?.next == 30)
        _ = take(30)
        #expect(!ledger.isLive, "it has not come by yet")
        ledger.passOver(40)
        let isLiveBeforeNew = ledger.fed(upTo: 31)
        #expect(!isLiveBeforeNew && ledger.gap?.last == 40)
        let isLive = ledger.fed(upTo: 41)
        #expect(isLive && ledger.cursor == 30)
    }

    @Test("A reader that is behind the next offset moves nothing back")
    mutating func fedBehind() {
        ledger.passOver(20)
        ledger.passOver(30)
        ledger.fed(upTo: 25)
        ledger.fed(upTo: 22)
        #expect(ledger.gap?.next == 25)
    }

    @Test(
        "Where the log begins later, what lay before is skipped and counted",
        arguments: [(20, 0), (25, 5), (31, 11)] as [(Int64, Int64)]
    )
    mutating func skips(low: Int64, count: Int64) {
        let isNothing = ledger.skip(to: 1000)
        #expect(isNothing == 0, "it is live")
        ledger.passOver(20)
        ledger.passOver(30)
        let skipped = ledger.skip(to: low)
        #expect(skipped == count && ledger.isLive == (low > 30))
    }

    @Test("Done marks beyond the cursor are kept, those that it began with included")
    mutating func doneRanges() {
        ledger = AppLedger(doneBelow: 0, alreadyDone: runs((12, 1, 13, 0), (50, 0, 60, 0)), gap: 10..<100)
        #expect(ledger.doneRanges() == runs((12, 1, 13, 0), (50, 0, 60, 0)))
        let first = take(11)
        let second = take(12, tokens: 3)
        #expect(ledger.isDone(second, token: 1) && !ledger.isDone(second, token: 0))
        ledger.markDone(first, token: 0)
        #expect(ledger.cursor == 12 && ledger.doneRanges() == runs((12, 1, 13, 0), (50, 0, 60, 0)))
        ledger.fed(upTo: 55)
        ledger.markDone(second, token: 0)
        #expect(ledger.cursor == 55 && ledger.doneRanges() == runs((55, 0, 60, 0)))
    }

    @Test("A rewound ledger is fed anew from its cursor, keeps its marks, and is behind up to the live reader")
    mutating func rewound() {
        _ = take(12)
        let second = take(15, tokens: 2)
        ledger.markDone(second, token: 1)
        var anew = ledger.rewound(liveNext: 40)
        #expect(anew.gap?.next == 12 && anew.gap?.last == 39 && anew.cursor == 12 && anew.doneBelow == 10)
        #expect(anew.frontier.recordCount == 0 && anew.frontier.bytes == 0)
        _ = anew.addRecord(offset: 12, tokens: 1, bytes: 0)
        let again = anew.addRecord(offset: 15, tokens: 2, bytes: 0)
        #expect(anew.isDone(again, token: 1) && !anew.isDone(again, token: 0))
        ledger.passOver(70)
        #expect(ledger.rewound(liveNext: 40).gap?.last == 70, "what was passed over stays so")
    }

    @Test("A ledger with nothing to do is rewound to one that is live, with the marks of what is to come")
    mutating func rewoundIdle() {
        ledger = AppLedger(doneBelow: 10, alreadyDone: runs((50, 0, 60, 0)))
        let record = take(12)
        ledger.markDone(record, token: 0)
        let anew = ledger.rewound(liveNext: 13)
        #expect(anew.isLive && anew.alreadyDone == runs((50, 0, 60, 0)))
    }

    @Test("A held record keeps the cursor until it is released")
    mutating func held() {
        let record = take(12)
        ledger.hold(record)
        ledger.markDone(record, token: 0)
        #expect(ledger.cursor == 12)
        ledger.release(record)
        #expect(ledger.cursor == nil)
    }

    // MARK: Near cursors

    @Test("Beyond the committed offset only what is behind the live reader is named in a commit")
    mutating func committedCursor() {
        #expect(ledger.cursor(liveNext: 40, committed: 10) == nil)
        _ = take(39)
        #expect(ledger.cursor(liveNext: 40, committed: 10) == 39)
        #expect(ledger.cursor(liveNext: 39, committed: 10) == nil)
    }

    @Test("While the live reader comes from a near cursor, a topic stays named where it or the reader stands")
    mutating func nearCursor() {
        ledger = AppLedger(doneBelow: 20, alreadyDone: DoneRanges())
        #expect(ledger.cursor(liveNext: 10, committed: 100) == 20)
        #expect(ledger.cursor(liveNext: 50, committed: 100) == 50)
        let record = take(50)
        #expect(ledger.cursor(liveNext: 51, committed: 100) == 50)
        ledger.markDone(record, token: 0)
        #expect(ledger.cursor(liveNext: 60, committed: 100) == 60)
        #expect(ledger.cursor(liveNext: 100, committed: 100) == nil)
        let whole = AppLedger(doneBelow: 100, alreadyDone: DoneRanges())
        #expect(whole.cursor(liveNext: 10, committed: 100) == nil, "all before the commit is done")
    }
}
