import Testing

@testable import PipelineCore

/// Lanes that stand still.
@Suite struct LaneStandstillTests {
    private var standstill = LaneStandstill(patience: .seconds(60))

    private mutating func note(
        at second: UInt64,
        hasWork: Bool = true,
        isExcused: Bool = false,
        settledEnd: UInt64 = 0,
        allowance: Duration = .seconds(2)
    ) -> Bool {
        standstill.observeLane(
            hasWork: hasWork,
            isExcused: isExcused,
            settledEnd: settledEnd,
            allowance: allowance,
            now: MonotonicTime(nanoseconds: second * 1_000_000_000)
        )
    }

    /// The seconds at which a standstill is reported, with one note a second.
    private mutating func reports(
        _ seconds: ClosedRange<UInt64>,
        settledEnd: (UInt64) -> UInt64 = { _ in 0 },
        hasWork: (UInt64) -> Bool = { _ in true },
        isExcused: (UInt64) -> Bool = { _ in false }
    ) -> [UInt64] {
        seconds.filter {
            note(at: $0, hasWork: hasWork($0), isExcused: isExcused($0), settledEnd: settledEnd($0))
        }
    }

    @Test("Work of which nothing settles for the patience and the allowance is a standstill, told once")
    mutating func once() {
        let told = reports(0...1000)
        #expect(told == [62])
    }

    @Test("Something that settles begins the time anew, and a later standstill is told again")
    mutating func settles() {
        let told = reports(0...300, settledEnd: { $0 < 61 ? 0 : $0 < 200 ? 1 : 2 })
        #expect(told == [123, 262])
    }

    @Test("A lane without work does not stand still, and work that comes has all its time")
    mutating func idle() {
        let told = reports(0...300, hasWork: { $0 >= 100 && $0 != 150 })
        #expect(told == [213])
    }

    @Test("Excused time does not count, and after it the time begins anew")
    mutating func excused() {
        let told = reports(0...300, isExcused: { (61...161).contains($0) })
        #expect(told == [224])
    }

    @Test("A standstill that goes on after an excuse is told again")
    mutating func again() {
        let told = reports(0...300, isExcused: { (100...110).contains($0) })
        #expect(told == [62, 173])
    }

    @Test("The allowance of the moment counts")
    mutating func allowance() {
        let first = note(at: 0)
        let tooEarly = note(at: 100, allowance: .seconds(41))
        let inTime = note(at: 100, allowance: .seconds(40))
        #expect(!first && !tooEarly && inTime)
    }
}
