/// When which part of a lane's log left this process, oldest first.
///
/// Flushes that follow each other within a small part of the window share one mark (with the time of the latest, so that
/// silence is never counted too early): memory stays bounded whatever the rate.
struct FlushMarks {
    struct Mark: Equatable {
        var end: UInt64
        var flushedAt: MonotonicTime
        /// When the first flush of this mark was; later ones join until a part of the window has gone by.
        fileprivate var startedAt: MonotonicTime

        init(end: UInt64, flushedAt: MonotonicTime) {
            self.end = end
            self.flushedAt = flushedAt
            startedAt = flushedAt
        }
    }

    /// A mark covers at most this part of the window.
    private static let partsPerWindow: UInt64 = 64

    private var marks: [Mark] = []
    private var start = 0

    var first: Mark? {
        start < marks.count ? marks[start] : nil
    }

    mutating func append(_ mark: Mark, window: Duration) {
        if start < marks.count {
            let last = marks[marks.count - 1]
            let age = mark.flushedAt.nanoseconds - min(mark.flushedAt.nanoseconds, last.startedAt.nanoseconds)
            if age < window.wholeNanoseconds / Self.partsPerWindow {
                marks[marks.count - 1].end = mark.end
                marks[marks.count - 1].flushedAt = mark.flushedAt
                return
            }
        }
        marks.append(mark)
    }

    mutating func removeFirst() {
        start += 1
        if start == marks.count {
            removeAll()
        } else if start > 128 {
            marks.removeFirst(start)
            start = 0
        }
    }

    mutating func removeAll() {
        marks.removeAll(keepingCapacity: true)
        start = 0
    }
}
