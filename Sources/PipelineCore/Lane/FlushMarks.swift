/// The parts of a lane's log that the gateway has in silence, with their start times, oldest first.
///
/// Frames written within a small part of the window share one mark (with the time of the latest, so that silence is
/// never counted too early): memory stays bounded whatever the rate.
struct FlushMarks {
    struct Mark: Equatable {
        /// One past the last sequence number it covers.
        var end: UInt64
        /// Position of its last byte in the connection's stream, plus one.
        fileprivate(set) var streamEnd: UInt64
        /// The start of the mark's silence; nil until the peer's kernel has acknowledged the mark.
        fileprivate(set) var silentSince: MonotonicTime?
        /// The time of writing the mark's first part; later parts join until a part of the window has gone by.
        fileprivate var startedAt: MonotonicTime
    }

    /// A mark covers at most this part of the window.
    private static let partsPerWindow: UInt64 = 64
    /// Most marks that wait for their acknowledgement; more are joined to the last.
    private static let mostUnacknowledged = 256

    private var marks: [Mark] = []
    private var start = 0
    /// Index of the first mark that is not acknowledged.
    private var unacknowledged = 0
    /// Index of the first mark that ``takeQuiet(for:now:)`` has not returned yet.
    private var quiet = 0

    var first: Mark? {
        start < marks.count ? marks[start] : nil
    }

    var isEmpty: Bool { start == marks.count }

    var awaitsAcknowledgement: Bool { unacknowledged < marks.count }

    /// Marks frames up to `end` that left this process. They get no acknowledgement: silence counts from now.
    mutating func appendFlushed(end: UInt64, now: MonotonicTime, window: Duration) {
        precondition(!awaitsAcknowledgement)
        if quiet < marks.count, isFresh(now: now, window: window) {
            marks[marks.count - 1].end = end
            marks[marks.count - 1].silentSince = now
        } else {
            marks.append(Mark(end: end, streamEnd: 0, silentSince: now, startedAt: now))
        }
        unacknowledged = marks.count
    }

    /// Marks frames up to `end`, which end at a stream position. Silence counts from its acknowledgement.
    mutating func appendWritten(end: UInt64, streamEnd: UInt64, now: MonotonicTime, window: Duration) {
        let joins =
            awaitsAcknowledgement
            && (isFresh(now: now, window: window) || marks.count - unacknowledged >= Self.mostUnacknowledged)
        if joins {
            marks[marks.count - 1].end = end
            marks[marks.count - 1].streamEnd = streamEnd
        } else {
            marks.append(Mark(end: end, streamEnd: streamEnd, silentSince: nil, startedAt: now))
        }
    }

    /// The peer's kernel has acknowledged the stream up to `streamBytes`.
    mutating func acknowledge(streamBytes: UInt64, now: MonotonicTime) {
        while unacknowledged < marks.count, marks[unacknowledged].streamEnd <= streamBytes {
            marks[unacknowledged].silentSince = now
            unacknowledged += 1
        }
    }

    /// The end of the marks silent for `delay`; nil if none is new.
    mutating func takeQuiet(for delay: Duration, now: MonotonicTime) -> UInt64? {
        var end: UInt64?
        quiet = max(quiet, start)
        while quiet < unacknowledged, let since = marks[quiet].silentSince, since + delay <= now {
            end = marks[quiet].end
            quiet += 1
        }
        return end
    }

    /// The time of writing the first part of the mark that covers an unsettled sequence number. Nil if there is none.
    func writtenAt(_ sequence: UInt64) -> MonotonicTime? {
        marks[start...].first { sequence < $0.end }?.startedAt
    }

    /// The time of writing the first part of the oldest unacknowledged mark; nil if all are acknowledged.
    var unacknowledgedSince: MonotonicTime? {
        unacknowledged < marks.count ? marks[unacknowledged].startedAt : nil
    }

    /// Removes the oldest mark, which must be acknowledged.
    mutating func removeFirst() {
        precondition(start < unacknowledged)
        start += 1
        if start == marks.count {
            removeAll()
        } else if start > 128 {
            marks.removeFirst(start)
            unacknowledged -= start
            quiet = max(quiet, start) - start
            start = 0
        }
    }

    /// Gives back memory that no mark needs.
    mutating func shrink() {
        if isEmpty { self = FlushMarks() }
    }

    mutating func removeAll() {
        marks.removeAll(keepingCapacity: true)
        start = 0
        unacknowledged = 0
        quiet = 0
    }

    /// The last mark still takes the frames that follow it.
    private func isFresh(now: MonotonicTime, window: Duration) -> Bool {
        guard start < marks.count else { return false }
        let age = now.nanoseconds - min(now.nanoseconds, marks[marks.count - 1].startedAt.nanoseconds)
        return age < window.wholeNanoseconds / Self.partsPerWindow
    }
}
