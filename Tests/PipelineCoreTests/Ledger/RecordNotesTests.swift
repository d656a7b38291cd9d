import TestSupport
import Testing

@testable import PipelineCore

/// Notes by record number, held against plain sets and dictionaries. The numbers wrap around meanwhile.
@Suite struct RecordNotesTests {
    @Test("Marks say of each record whether it was marked, until it is forgotten", arguments: 0..<50 as Range<UInt64>)
    func marks(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var marks = RecordMarks()
        var model: Set<UInt32> = []
        let first = UInt32.max - 100
        var next = first
        var kept = first
        #expect(marks.isEmpty)
        for _ in 0..<200 {
            if generator.chance(60) {
                marks.mark(next)
                model.insert(next)
                if generator.chance(50) { marks.mark(next) }
            }
            next &+= 1
            if generator.chance(10) {
                kept = first &+ UInt32.random(in: (kept &- first)...(next &- first), using: &generator)
                marks.forget(before: kept)
            }
            var record = kept
            while record != next {
                #expect(marks.contains(record) == model.contains(record))
                record &+= 1
            }
            #expect(!marks.contains(next))
        }
        marks.forget(before: next)
        #expect(marks.isEmpty)
    }

    @Test("Values are those of their records, until they are forgotten", arguments: 0..<20 as Range<UInt64>)
    func values(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var values = RecordValues<UInt32>()
        var model: [UInt32: UInt32] = [:]
        let first = UInt32.max - 2000
        var next = first
        var kept = first
        for step in 0..<4000 as Range<UInt32> {
            if generator.chance(70) {
                values.append(step, for: next)
                model[next] = step
            }
            next &+= 1
            if generator.chance(5) {
                kept = first &+ UInt32.random(in: (kept &- first)...(next &- first), using: &generator)
                values.forget(before: kept)
            }
            let asked = kept &+ UInt32.random(in: 0...(next &- kept), using: &generator)
            #expect(values[asked] == model[asked])
            #expect(values[next] == nil)
        }
    }
}
