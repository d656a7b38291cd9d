import Testing

@testable import PipelineCore

/// Notifications that share the time of their silence.
@Suite struct FlushMarksTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private static let window = Duration.seconds(64)
    /// The time in which notifications join a mark: a 64th of the window.
    private static let part = Duration.seconds(1)

    private var marks = FlushMarks()

    private mutating func flush(upTo end: UInt64, after time: Duration) {
        marks.appendFlushed(end: end, now: Self.start + time, window: Self.window)
    }

    @Test("A mark takes in what is flushed within a 64th of the window after its beginning, and nothing at its end")
    mutating func joins() {
        flush(upTo: 1, after: .zero)
        flush(upTo: 2, after: Self.part - .nanoseconds(1))
        #expect(marks.first?.end == 2)
        flush(upTo: 3, after: Self.part)
        #expect(marks.first?.end == 2)
        marks.removeFirst()
        #expect(marks.first?.end == 3)
    }

    @Test("What is flushed behind a mark that has been quiet does not join it: its own quiet would not be told")
    mutating func behindQuiet() {
        let delay = Duration.milliseconds(40)
        flush(upTo: 1, after: .zero)
        let first = marks.takeQuiet(for: delay, now: Self.start + delay)
        flush(upTo: 2, after: delay)
        let second = marks.takeQuiet(for: delay, now: Self.start + delay * 2)
        #expect(first == 1 && second == 2)
    }

    @Test("Notifications of one mark have the time of its first part, the next one that of its own mark")
    mutating func writtenAt() {
        flush(upTo: 2, after: .zero)
        flush(upTo: 3, after: .milliseconds(500))
        flush(upTo: 5, after: .seconds(10))
        let times = (0...5 as ClosedRange<UInt64>).map { marks.writtenAt($0) }
        let (first, second) = (Self.start, Self.start + .seconds(10))
        #expect(times == [first, first, first, second, second, nil])
    }
}
