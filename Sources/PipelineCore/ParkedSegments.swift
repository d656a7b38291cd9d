/// Who wrote which part of a partition of push.parked, as long as some of it is lag, and hence which copies count.
///
/// An assignment that takes over consumes its source anew from the committed position on. Copies of what stands there, by
/// assignments before, are orphans: the record is sent from the source, or parked once more. A copy that comes after the next
/// assignment has begun is another's and counts for nothing. Without this an orphan that is read after its record was parked
/// again would be taken for the new copy, and be sent before what is older.
///
/// Offsets are those of push.parked, unless said otherwise. Pure.
public struct ParkedSegments: Equatable, Sendable {
    /// What one assignment wrote.
    public struct Segment: Equatable, Sendable {
        /// Its copies stand from here on.
        public var start: Int64
        /// Where it began in the source: an offset there.
        public var source: Int64
        /// Names the assignment in its copies: letters and digits.
        public var writer: String

        public init(start: Int64, source: Int64, writer: String) {
            self.start = start
            self.source = source
            self.writer = writer
        }
    }

    /// In the order of their starts.
    public private(set) var segments: [Segment] = []

    public init() {}

    public init(_ segments: [Segment]) {
        self.segments = segments
    }

    /// An assignment begins that may write from an offset on, which is not below those before.
    public mutating func begin(_ segment: Segment) {
        precondition(segments.last.map { $0.start <= segment.start } ?? true)
        // The one before has written nothing; what it made orphans stays orphaned.
        if let last = segments.last, last.start == segment.start {
            segments.removeLast()
            return begin(.init(start: segment.start, source: min(last.source, segment.source), writer: segment.writer))
        }
        segments.append(segment)
    }

    /// Everything below an offset is done.
    public mutating func forget(before offset: Int64) {
        let spent = segments.dropFirst().prefix { $0.start <= offset }.count
        segments.removeFirst(spent)
    }

    /// Whether a copy stands for its record. Those below the first segment are nobody's in particular.
    ///
    /// - Parameters:
    ///   - offset: of the copy.
    ///   - source: of its record, in the source.
    public func counts(copyAt offset: Int64, source: Int64, writer: String) -> Bool {
        let own = segments.lastIndex { $0.start <= offset }
        if let own, segments[own].writer != writer { return false }
        return segments[(own.map { $0 + 1 } ?? 0)...].allSatisfy { source < $0.source }
    }
}
