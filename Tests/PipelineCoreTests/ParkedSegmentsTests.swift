import TestSupport
import Testing

@testable import PipelineCore

/// Which copies in push.parked stand for their records.
@Suite struct ParkedSegmentsTests {
    /// Two assignments: the second began at record 50 of the source, when there were 10 copies.
    private let segments = ParkedSegments([
        .init(start: 0, source: 0, writer: "a"), .init(start: 10, source: 50, writer: "b"),
    ])

    @Test("A copy of what the next assignment consumed anew is an orphan, also when its record was parked again")
    func orphans() {
        #expect(segments.counts(copyAt: 3, source: 49, writer: "a"))
        #expect(!segments.counts(copyAt: 4, source: 50, writer: "a"))
        #expect(segments.counts(copyAt: 10, source: 50, writer: "b"))
    }

    @Test("A copy that comes after its writer's assignment ended counts for nothing")
    func late() {
        #expect(!segments.counts(copyAt: 12, source: 49, writer: "a"))
    }

    @Test("Of whoever wrote before the first that is known, what was not consumed anew counts")
    func unknownWriter() {
        let segments = ParkedSegments([.init(start: 10, source: 50, writer: "b")])
        #expect(segments.counts(copyAt: 3, source: 49, writer: "z"))
        #expect(!segments.counts(copyAt: 3, source: 50, writer: "z"))
        #expect(ParkedSegments().counts(copyAt: 3, source: 50, writer: "z"))
    }

    @Test("An assignment that wrote nothing leaves no segment, but what it made orphans stays orphaned")
    func empty() {
        var segments = segments
        segments.begin(.init(start: 10, source: 60, writer: "c"))
        #expect(segments.segments.map(\.writer) == ["a", "c"])
        #expect(!segments.counts(copyAt: 4, source: 55, writer: "a"))
        #expect(!segments.counts(copyAt: 10, source: 60, writer: "b"))
    }

    @Test("What is done can be forgotten: the answers about all else stay the same", arguments: 0..<50)
    func forgetting(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var whole = ParkedSegments()
        var end: Int64 = 0
        for number in 0..<random.pick(1...8) {
            whole.begin(.init(start: end, source: Int64(random.pick(0...100)), writer: "\(number)"))
            end += Int64(random.pick(0...20))
        }
        let done = Int64(random.pick(0...Int(end)))
        var rest = whole
        rest.forget(before: done)
        #expect(rest.segments.dropFirst().allSatisfy { $0.start > done })
        for _ in 0..<200 {
            let offset = done + Int64(random.pick(0...30))
            let source = Int64(random.pick(0...100))
            let writer = "\(random.pick(0...8))"
            #expect(
                rest.counts(copyAt: offset, source: source, writer: writer)
                    == whole.counts(copyAt: offset, source: source, writer: writer)
            )
        }
    }
}
