/// Which topics of a partition have parked lag, and from where on it counts: the metadata of a commit to push.parked.
///
/// Text form, ASCII, numbers in base 36: `2`; then for each of the ``ParkedSegments`` `|@` start `.` source `.` writer, the
/// start relative to the committed offset; then `|*` if not all topics have room; then for each topic `|` hash `.` cursor,
/// the cursor relative to the committed offset, which is the smallest cursor, and, as far as it fits, `:` and the
/// ``DoneRanges`` relative to the cursor.
public struct ParkedLags: Equatable, Sendable {
    public struct Lag: Equatable, Sendable {
        /// ``topicHash(environment:bundleID:)``.
        public var topic: UInt64
        /// The first offset of push.parked that is not done.
        public var cursor: Int64
        /// What is done beyond it.
        public var done: DoneRanges

        public init(topic: UInt64, cursor: Int64, done: DoneRanges = DoneRanges()) {
            self.topic = topic
            self.cursor = cursor
            self.done = done
        }
    }

    /// Why a text is not one of these.
    public struct DecodingError: Error, Equatable {}

    public var lags: [Lag] = []
    /// Topics that are not named may have lag too, from the committed offset on.
    public var othersMayLag = false
    /// Which copies count.
    public var segments = ParkedSegments()

    public init() {}

    public var isEmpty: Bool { lags.isEmpty && !othersMayLag }

    /// FNV-1a, 64 bits. Two topics with one hash would be parked and return together, which harms neither's order.
    public static func topicHash(environment: String, bundleID: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for bytes in [Array(environment.utf8), [0], Array(bundleID.utf8)] {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        }
        return hash
    }

    // MARK: Text

    private static let version = "2"
    private static let others = "*"
    private static let segmentMark: Character = "@"

    /// The text form.
    public struct Encoding: Equatable, Sendable {
        public var text: String
        /// Topics of which not everything that is done beyond their cursors is told.
        public var incomplete: Set<UInt64> = []
    }

    /// - Parameters:
    ///   - committedOffset: not above any cursor.
    ///   - limitBytes: most bytes of text, at least 200; ``segmentLimit(limitBytes:)`` says how many segments may be there.
    public func encoded(committedOffset: Int64, limitBytes: Int) -> Encoding {
        guard !isEmpty else { return Encoding(text: "") }
        var parts = [Self.version] + segments.segments.map { Self.text(of: $0, committedOffset: committedOffset) }
        var left = limitBytes - parts.joined(separator: "|").utf8.count - 1 - Self.others.utf8.count
        let named = lags.sorted { ($0.cursor, $0.topic) < ($1.cursor, $1.topic) }
        var names: [String] = []
        for lag in named {
            let name = "\(String(lag.topic, radix: 36)).\(String(lag.cursor - committedOffset, radix: 36))"
            guard name.utf8.count < left else { break }
            names.append(name)
            left -= name.utf8.count + 1
        }
        var incomplete = Set(named.dropFirst(names.count).map(\.topic))
        for (index, lag) in named.prefix(names.count).enumerated() {
            let done = lag.done.encodedWithin(left - 1, committedOffset: lag.cursor)
            if !done.isComplete { incomplete.insert(lag.topic) }
            guard !done.text.isEmpty else { continue }
            names[index] += ":" + done.text
            left -= done.text.utf8.count + 1
        }
        if othersMayLag || names.count < named.count { parts.append(Self.others) }
        return Encoding(text: (parts + names).joined(separator: "|"), incomplete: incomplete)
    }

    /// Most segments that a text may have, so that it has room for something else.
    public static func segmentLimit(limitBytes: Int) -> Int { limitBytes / 64 }

    private static func text(of segment: ParkedSegments.Segment, committedOffset: Int64) -> String {
        // What lies below the committed offset is done, whoever wrote it.
        let start = String(max(0, segment.start - committedOffset), radix: 36)
        return "\(segmentMark)\(start).\(String(segment.source, radix: 36)).\(segment.writer)"
    }

    /// Reads the text form; an empty text is no lag.
    public init(decoding text: String, committedOffset: Int64) throws(DecodingError) {
        guard !text.isEmpty else { return }
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts[0] == Self.version else { throw DecodingError() }
        var segments: [ParkedSegments.Segment] = []
        for part in parts.dropFirst() {
            if part == Self.others {
                othersMayLag = true
                continue
            }
            if part.first == Self.segmentMark {
                segments.append(try Self.segment(part.dropFirst(), behind: segments.last, committedOffset))
                continue
            }
            let halves = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let numbers = halves[0].split(separator: ".", omittingEmptySubsequences: false)
            guard numbers.count == 2, let topic = UInt64(numbers[0], radix: 36),
                let distance = Int64(numbers[1], radix: 36), distance >= 0
            else { throw DecodingError() }
            let (cursor, overflow) = committedOffset.addingReportingOverflow(distance)
            guard !overflow, !lags.contains(where: { $0.topic == topic }) else { throw DecodingError() }
            var done = DoneRanges()
            if halves.count == 2 {
                guard let ranges = try? DoneRanges(decoding: String(halves[1]), committedOffset: cursor) else {
                    throw DecodingError()
                }
                done = ranges
            }
            lags.append(Lag(topic: topic, cursor: cursor, done: done))
        }
        self.segments = ParkedSegments(segments)
    }

    private static func segment(
        _ text: Substring,
        behind last: ParkedSegments.Segment?,
        _ committedOffset: Int64
    ) throws(DecodingError) -> ParkedSegments.Segment {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 3, let distance = Int64(fields[0], radix: 36), distance >= 0,
            let source = Int64(fields[1], radix: 36), source >= 0, !fields[2].isEmpty
        else { throw DecodingError() }
        let (start, overflow) = committedOffset.addingReportingOverflow(distance)
        guard !overflow, last.map({ $0.start < start }) ?? true else { throw DecodingError() }
        return ParkedSegments.Segment(start: start, source: source, writer: String(fields[2]))
    }
}
