import TestSupport
import Testing

@testable import PipelineCore

@Suite("Done ranges that commits name while publications are under way")
struct DoneClaimsTests {
    private var claims = DoneClaims(DoneRanges())

    private static func records(_ offsets: Int64...) -> DoneRanges { records(offsets) }

    private static func records(_ offsets: some Sequence<Int64>) -> DoneRanges {
        var ranges = DoneRanges()
        for offset in offsets {
            let start = DoneRanges.Position(offset: offset, token: 0)
            let end = DoneRanges.Position(offset: offset + 1, token: 0)
            ranges.append(start..<end)
        }
        return ranges
    }

    @Test("While no publication is under way, all that is done is named at once")
    mutating func none() {
        #expect(claims.claim(Self.records(3)) == Self.records(3))
        claims.end(claims.begin())
        #expect(claims.claim(Self.records(3, 5)) == Self.records(3, 5))
    }

    @Test("Records done while a publication waits are not named before its acknowledgement; named ones stay named")
    mutating func waiting() {
        #expect(claims.claim(Self.records(3)) == Self.records(3))
        let refused = claims.begin()
        for offset in 5...9 as ClosedRange<Int64> {
            #expect(claims.claim(Self.records(3, offset)) == Self.records(3))
        }
        #expect(claims.unacknowledged == 1)
        claims.end(refused)
        #expect(claims.unacknowledged == 0 && claims.claim(Self.records(3, 9)) == Self.records(3, 9))
    }

    @Test("Where there are always publications under way, what is named is what was done one commit before")
    mutating func traffic() {
        var former = claims.begin()
        _ = claims.claim(Self.records(1))
        for offset in 2...9 as ClosedRange<Int64> {
            let next = claims.begin()
            claims.end(former)
            former = next
            #expect(claims.claim(Self.records(1...offset)) == Self.records(1..<offset))
        }
    }

    @Test("An outcome that follows from a dead letter takes its place: what was done behind the letter still waits")
    mutating func following() {
        let letter = claims.begin()
        #expect(claims.claim(Self.records(3)).isEmpty)
        let outcome = claims.begin(after: letter)
        claims.end(letter)
        #expect(claims.claim(Self.records(3, 4)).isEmpty)
        claims.end(outcome)
        #expect(claims.claim(Self.records(3, 4)) == Self.records(3, 4))
    }

    @Test("Records that the former owner named are named from the first commit on, until they lie below the cursor")
    mutating func inherited() {
        claims = DoneClaims(Self.records(3, 7))
        let refused = claims.begin()
        #expect(claims.claim(Self.records(3, 5, 7)) == Self.records(3, 7))
        claims.forget(below: 7)
        #expect(claims.claim(Self.records(7, 9)) == Self.records(3, 7))
        claims.forget(below: 8)
        #expect(claims.claim(Self.records(9)).isEmpty)
        claims.end(refused)
        #expect(claims.claim(Self.records(9)) == Self.records(9))
    }

    @Test("Nothing is named that was done while an older publication was under way, and nothing named is taken back")
    mutating func order() {
        for seed in 1...200 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            claims = DoneClaims(DoneRanges())
            var open: [(round: DoneClaims.Round, begun: Int64)] = []
            var done: Int64 = 0
            var named: Int64 = 0
            for _ in 0..<200 {
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1: done += 1
                case 2: open.append((claims.begin(), done))
                case 3 where !open.isEmpty:
                    claims.end(open.remove(at: .random(in: open.indices, using: &random)).round)
                case 4 where !open.isEmpty:
                    let place = Int.random(in: open.indices, using: &random)
                    let next = claims.begin(after: open[place].round)
                    claims.end(open[place].round)
                    open[place].round = next
                default:
                    let end = claims.claim(Self.records(0..<done)).runs.last?.upperBound.offset ?? 0
                    #expect(named <= end && end <= done)
                    #expect(open.allSatisfy { end <= max(named, $0.begun) })
                    if open.isEmpty { #expect(end == done) }
                    named = end
                }
            }
            #expect(claims.unacknowledged == open.count)
        }
    }
}
