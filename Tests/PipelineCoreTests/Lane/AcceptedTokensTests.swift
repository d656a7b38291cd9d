import TestSupport
import Testing

@testable import PipelineCore

@Suite struct AcceptedTokensTests {
    private func checksums(_ count: Int, seed: UInt64) -> [UInt32] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt32(truncatingIfNeeded: random.next()) }
    }

    @Test("Accepted tokens are known, no others, and none that was refused since")
    func life() {
        var tokens = AcceptedTokens(indexBits: 4)
        let known = checksums(16, seed: 1)
        for checksum in known { tokens.insert(checksum: checksum) }
        let strangers = checksums(1000, seed: 2).filter { !known.contains($0) }
        #expect(known.allSatisfy { tokens.contains(checksum: $0) })
        #expect(strangers.count { tokens.contains(checksum: $0) } <= 1)
        tokens.remove(checksum: known[3])
        #expect(known.filter { !tokens.contains(checksum: $0) } == [known[3]])
    }

    @Test("Up to a third of the capacity no token is forgotten, though tokens of one key share bits of their checksums")
    func capacity() {
        var tokens = AcceptedTokens(indexBits: 12)
        let known = (0..<UInt32(tokens.capacity / 3)).map { $0 &* 2_654_435_761 & ~63 | 17 }
        for checksum in known { tokens.insert(checksum: checksum) }
        let forgotten = known.count { !tokens.contains(checksum: $0) }
        #expect(forgotten == 0)
    }

    @Test("When there is no room the oldest are forgotten")
    func bounded() {
        var tokens = AcceptedTokens(indexBits: 4)
        let capacity = tokens.capacity
        let known = checksums(capacity * 20, seed: 3)
        for checksum in known { tokens.insert(checksum: checksum) }
        #expect(known.suffix(capacity / 8).allSatisfy { tokens.contains(checksum: $0) })
        #expect(known.prefix(capacity).count { tokens.contains(checksum: $0) } <= capacity / 8)
    }

    @Test("A token that is accepted again takes no second place")
    func again() {
        var tokens = AcceptedTokens(indexBits: 1)
        let known = checksums(6, seed: 4)
        for checksum in known { tokens.insert(checksum: checksum) }
        for _ in 0..<100 { tokens.insert(checksum: known[5]) }
        #expect(known.allSatisfy { tokens.contains(checksum: $0) })
    }

    @Test("Of a lane's log everything is taken in but what was dropped")
    func log() {
        var log = FrameLog()
        for ordinal in 0..<UInt32(4) {
            _ = log.reserve(1)
            log.commit(.init(assignment: ordinal % 2, record: 0, token: ordinal), bytes: 1, checksum: 100 + ordinal)
        }
        log.drop(assignment: 1, from: 0)
        var tokens = AcceptedTokens(indexBits: 4)
        tokens.insert(0..<3, of: log)
        let found = (UInt32(100)..<104).map { tokens.contains(checksum: $0) }
        #expect(found == [true, false, true, false])
    }
}
