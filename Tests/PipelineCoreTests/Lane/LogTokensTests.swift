import TestSupport
import Testing

@testable import PipelineCore

@Suite struct LogTokensTests {
    @Test("Nothing in the stretch is denied, however often it moves on, and little that is not there is affirmed")
    func neverDenies() {
        var random = SeededGenerator(seed: 11)
        var log = FrameLog()
        var tokens = LogTokens()
        var strangers = 0
        for round in 0..<40 {
            for _ in 0..<10_000 {
                _ = log.reserve(1)
                let checksum = UInt32(truncatingIfNeeded: random.next())
                log.commit(.init(assignment: 0, record: 0, token: 0), bytes: 1, checksum: checksum)
                tokens.insert(checksum: checksum)
            }
            log.evict(before: log.tail - UInt64.random(in: 0...20_000, using: &random).clamped(to: log))
            tokens.refresh(from: log, log.head..<log.tail)
            if round % 10 == 9 { tokens.remake(from: log, log.head..<log.tail) }
            let denied = (log.head..<log.tail).count { !tokens.mayContain(checksum: log.entry(at: $0).checksum) }
            #expect(denied == 0)
            for _ in 0..<1000 where tokens.mayContain(checksum: UInt32(truncatingIfNeeded: random.next())) {
                strangers += 1
            }
        }
        #expect(strangers < 400, "one in a hundred")
    }

    @Test("It is as large as the stretch needs: many lanes have a short one")
    func size() {
        var log = FrameLog()
        var tokens = LogTokens()
        #expect(tokens.bytes == 8192)
        for checksum in 0..<100_000 as Range<UInt32> {
            _ = log.reserve(1)
            log.commit(.init(assignment: 0, record: 0, token: 0), bytes: 1, checksum: checksum)
            tokens.insert(checksum: checksum)
        }
        tokens.refresh(from: log, log.head..<log.tail)
        #expect(tokens.bytes == 512 << 10)
        log.evict(before: log.tail - 1000)
        for checksum in 0..<100_000 as Range<UInt32> { tokens.insert(checksum: checksum) }
        tokens.refresh(from: log, log.head..<log.tail)
        #expect(tokens.bytes == 8192)
        #expect((log.head..<log.tail).allSatisfy { tokens.mayContain(checksum: log.entry(at: $0).checksum) })
    }
}

extension UInt64 {
    fileprivate func clamped(to log: borrowing FrameLog) -> UInt64 { Swift.min(self, log.tail - log.head) }
}
