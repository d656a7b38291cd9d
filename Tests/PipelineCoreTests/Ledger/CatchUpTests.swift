import Testing

@testable import PipelineCore

/// The topic that the reader of a partition feeds next.
@Suite struct CatchUpTests {
    private let first = AppHash(value: 10)
    private let second = AppHash(value: 20)
    private let third = AppHash(value: 30)
    private var catchUp = CatchUp(visitBytes: 1000)

    private func candidate(_ topic: AppHash, _ next: Int64) -> CatchUp.Candidate { .init(topic: topic, next: next) }

    /// The reader comes by so much, and feeds a topic on the way.
    private mutating func read(to offset: Int64, feeding topic: AppHash, bytes: Int) {
        catchUp.fed(topic, bytes: bytes)
        catchUp.passed(upTo: offset)
    }

    @Test("With no topic to feed the reader stops, and has no position")
    mutating func nobody() {
        #expect(catchUp.decide([]) == .stop)
        _ = catchUp.decide([candidate(first, 5)])
        #expect(catchUp.position == 5)
        #expect(catchUp.decide([]) == .stop)
        #expect(catchUp.position == nil)
    }

    @Test("The first visit goes to the lowest offset, for topics named in any order")
    mutating func lowestFirst() {
        var other = catchUp
        #expect(catchUp.decide([candidate(second, 90_000), candidate(first, 5000)]) == .begin(at: 5000))
        #expect(other.decide([candidate(first, 5000), candidate(second, 90_000)]) == .begin(at: 5000))
        #expect(catchUp == other)
    }

    @Test("A visit goes on until its bytes are used up; then the one whose visit is longest ago has its turn")
    mutating func inTurn() {
        #expect(catchUp.decide([candidate(first, 0), candidate(second, 10_000)]) == .begin(at: 0))
        read(to: 500, feeding: first, bytes: 999)
        #expect(catchUp.decide([candidate(first, 500), candidate(second, 10_000)]) == .goOn)
        read(to: 501, feeding: first, bytes: 1)
        #expect(catchUp.decide([candidate(first, 501), candidate(second, 10_000)]) == .begin(at: 10_000))
        read(to: 10_500, feeding: second, bytes: 2000)
        let all = [candidate(first, 501), candidate(second, 10_500), candidate(third, 200_000)]
        #expect(catchUp.decide(all) == .begin(at: 200_000), "it never had a visit")
        read(to: 200_400, feeding: third, bytes: 2000)
        #expect(
            catchUp.decide([candidate(second, 10_500), candidate(third, 200_400), candidate(first, 501)])
                == .begin(at: 501)
        )
    }

    @Test("Riders cost the visited topic nothing")
    mutating func riders() {
        _ = catchUp.decide([candidate(first, 0), candidate(second, 10)])
        read(to: 800, feeding: second, bytes: 100_000)
        #expect(catchUp.decide([candidate(first, 800), candidate(second, 800)]) == .goOn)
        read(to: 900, feeding: first, bytes: 1000)
        #expect(catchUp.decide([candidate(first, 900), candidate(second, 900)]) == .goOn, "the next visit is here")
        read(to: 950, feeding: first, bytes: 100_000)
        #expect(
            catchUp.decide([candidate(first, 950), candidate(third, 0)]) == .begin(at: 0),
            "the third never had a visit"
        )
    }

    @Test(
        "A short way ahead is read over, a long one is jumped",
        arguments: [(1000, true), (1001, false)] as [(Int64, Bool)]
    )
    mutating func jumps(way: Int64, isRead: Bool) {
        _ = catchUp.decide([candidate(first, 0)])
        read(to: 100, feeding: first, bytes: 1)
        #expect(catchUp.decide([candidate(first, 100 + way)]) == (isRead ? .goOn : .begin(at: 100 + way)))
        #expect(catchUp.position == (isRead ? 100 : 100 + way))
    }

    @Test("The reader never reads over records that lie behind it: it begins anew there")
    mutating func backwards() {
        _ = catchUp.decide([candidate(first, 500)])
        read(to: 600, feeding: first, bytes: 1)
        #expect(catchUp.decide([candidate(first, 599)]) == .begin(at: 599))
    }

    @Test("The position never goes back while the reader reads on, and a reader that does not read has none")
    mutating func position() {
        catchUp.passed(upTo: 7)
        #expect(catchUp.position == nil)
        _ = catchUp.decide([candidate(first, 50)])
        catchUp.passed(upTo: 40)
        #expect(catchUp.position == 50)
        catchUp.passed(upTo: 60)
        #expect(catchUp.position == 60)
        catchUp.halt()
        #expect(catchUp.position == nil)
        #expect(catchUp.decide([candidate(first, 60)]) == .begin(at: 60))
    }

    @Test("A lag with few records in a long log does not keep another waiting until its end")
    mutating func sparse() {
        _ = catchUp.decide([candidate(first, 1_000_000)])
        var offset: Int64 = 1_000_000
        var decision = CatchUp.Reading.goOn
        while decision == .goOn, offset < 10_000_000 {
            offset += 512
            read(to: offset, feeding: first, bytes: 1)
            decision = catchUp.decide([candidate(first, offset), candidate(second, 0)])
        }
        #expect(decision == .begin(at: 0))
        #expect(offset <= 1_101_000)
    }

    @Test("A visit has a hundred thousand offsets")
    mutating func visitEnd() {
        let other = candidate(second, 5_000_000)
        #expect(catchUp.decide([candidate(first, 0), other]) == .begin(at: 0))
        read(to: 99_999, feeding: first, bytes: 1)
        #expect(catchUp.decide([candidate(first, 99_999), other]) == .goOn)
        read(to: 100_000, feeding: first, bytes: 1)
        #expect(catchUp.decide([candidate(first, 100_000), other]) == .begin(at: 5_000_000))
    }

    @Test("No topic waits for more than one visit of each other one, however long the other lags are")
    mutating func fairness() {
        var next: [AppHash: Int64] = [:]
        for index in 0..<100 as Range<Int64> { next[AppHash(value: UInt64(index))] = index * 1_000_000 }
        var visits: [Int64] = []
        for _ in 0..<300 {
            let candidates = next.map { candidate($0.key, $0.value) }
            guard case .begin(let offset) = catchUp.decide(candidates) else { continue }
            visits.append(offset / 1_000_000)
            let topic = AppHash(value: UInt64(offset / 1_000_000))
            next[topic] = offset + 10
            read(to: offset + 10, feeding: topic, bytes: 5000)
        }
        let turn = (0..<100).map { Int64($0) }
        #expect(visits == turn + turn + turn)
    }
}
