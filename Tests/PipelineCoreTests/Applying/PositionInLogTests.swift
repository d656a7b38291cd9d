import Testing

@testable import PipelineCore

@Suite struct PositionInLogTests {
    @Test(
        "An offset below the log was overtaken, one above its end is beyond it, and the end itself is no fault",
        arguments: [
            (5, PositionInLog.present), (7, .present), (10, .present), (4, .overtaken(lostRecords: 1)),
            (0, .overtaken(lostRecords: 5)), (11, .beyondEnd), (-2, .present),
        ] as [(Int64, PositionInLog)]
    )
    func extent(next: Int64, position: PositionInLog) {
        #expect(PositionInLog(next: next, low: 5, high: 10) == position)
    }

    @Test(
        "An offset that was refused is not called present because the log has it now: only one below the log is",
        arguments: [
            (7, 7, PositionInLog.cut), (10, 10, .cut), (5, 5, .cut), (7, 9, .cut), (7, 4, .present), (5, 0, .present),
            (11, 11, .beyondEnd), (9, 12, .beyondEnd), (3, 3, .overtaken(lostRecords: 2)), (-2, 4, .present),
        ] as [(Int64, Int64, PositionInLog)]
    )
    func refused(next: Int64, refused: Int64, position: PositionInLog) {
        #expect(PositionInLog(next: next, refused: refused, low: 5, high: 10) == position)
    }

    @Test("In an empty log only its end is there, wherever that is")
    func empty() {
        #expect(PositionInLog(next: 0, low: 0, high: 0) == .present)
        #expect(PositionInLog(next: 1, low: 0, high: 0) == .beyondEnd)
        #expect(PositionInLog(next: 7, low: 9, high: 9) == .overtaken(lostRecords: 2))
    }
}
