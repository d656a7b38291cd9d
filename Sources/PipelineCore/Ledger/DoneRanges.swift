/// The finished notifications beyond a partition's committed offset, as runs in consumed order.
///
/// The runs travel in the commit metadata, so that the next owner of the partition sends only unfinished notifications
/// after a crash (the bound on duplicates). Text form, ASCII: `1;` then runs `o.t-o.t` joined by `,`, each number in
/// base 36. Offsets are relative to the one before (the first to the committed offset); the end of a run is exclusive.
public struct DoneRanges: Equatable, Sendable {
    /// A place in a partition: before token `token` of the record at `offset`.
    public struct Position: Comparable, Hashable, Sendable {
        public var offset: Int64
        public var token: UInt32

        public init(offset: Int64, token: UInt32) {
            self.offset = offset
            self.token = token
        }

        public static func < (left: Position, right: Position) -> Bool {
            (left.offset, left.token) < (right.offset, right.token)
        }
    }

    /// The reason why a text is not a list of runs.
    public enum DecodingError: Error, Equatable {
        case unknownVersion
        case malformed(position: Int)
    }

    /// Ascending, not touching.
    public private(set) var runs: [Range<Position>] = []

    public init() {}

    public var isEmpty: Bool { runs.isEmpty }

    /// Adds a run that starts at or after the end of the last one; touching runs become one.
    public mutating func append(_ run: Range<Position>) {
        guard !run.isEmpty else { return }
        if let last = runs.last {
            precondition(run.lowerBound >= last.upperBound)
            if run.lowerBound == last.upperBound {
                runs[runs.count - 1] = last.lowerBound..<run.upperBound
                return
            }
        }
        runs.append(run)
    }

    /// The runs, and parts of runs, that begin at an offset or beyond.
    public func dropping(before offset: Int64) -> DoneRanges {
        let start = Position(offset: offset, token: 0)
        guard let first = runs.first, first.lowerBound < start else { return self }
        var rest = DoneRanges()
        for run in runs where run.upperBound > start { rest.append(max(run.lowerBound, start)..<run.upperBound) }
        return rest
    }

    /// The runs, and parts of runs, before an offset.
    public func dropping(from offset: Int64) -> DoneRanges {
        let end = Position(offset: offset, token: 0)
        guard let last = runs.last, last.upperBound > end else { return self }
        var rest = DoneRanges()
        for run in runs where run.lowerBound < end { rest.append(run.lowerBound..<min(run.upperBound, end)) }
        return rest
    }

    /// The parts of runs that lie in runs of the other ranges, too.
    public func intersection(_ other: DoneRanges) -> DoneRanges {
        var common = DoneRanges()
        var others = other.runs[...]
        for run in runs {
            others = others.drop { $0.upperBound <= run.lowerBound }
            for other in others.prefix(while: { $0.lowerBound < run.upperBound }) {
                common.append(run.clamped(to: other))
            }
        }
        return common
    }

    /// One run has all notifications of a record, however many these are.
    public func containsAll(of offset: Int64) -> Bool {
        let start = Position(offset: offset, token: 0)
        let place = runs.partitioningIndex { $0.upperBound > start }
        return place < runs.count && runs[place].lowerBound <= start && runs[place].upperBound.offset > offset
    }

    public func contains(_ position: Position) -> Bool {
        let place = runs.partitioningIndex { $0.upperBound > position }
        return place < runs.count && runs[place].contains(position)
    }

    // MARK: Text

    /// Bytes of the shortest run in the text form, with its separator.
    public static let shortestRunBytes = 8

    static let versionText = "1;"
    /// Bytes of the version that the text form begins with.
    static let versionBytes = versionText.utf8.count
    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

    /// The text form relative to the committed offset. Runs that do not fit are left out, which costs duplicates after
    /// a crash but never a notification.
    ///
    /// - Parameter limitBytes: most bytes of text (librdkafka's and Kafka's default limit of commit metadata is 4096).
    public func encoded(committedOffset: Int64, limitBytes: Int) -> String {
        encodedWithin(limitBytes, committedOffset: committedOffset).text
    }

    /// The text form, and whether all runs fit.
    func encodedWithin(_ limitBytes: Int, committedOffset: Int64) -> (text: String, isComplete: Bool) {
        guard !runs.isEmpty else { return ("", true) }
        var text = Array(Self.versionText.utf8)
        var origin = committedOffset
        var isFirst = true
        var isComplete = true
        for run in runs {
            let start = text.count
            if !isFirst { text.append(UInt8(ascii: ",")) }
            Self.append(run.lowerBound.offset - origin, to: &text)
            text.append(UInt8(ascii: "."))
            Self.append(Int64(run.lowerBound.token), to: &text)
            text.append(UInt8(ascii: "-"))
            Self.append(run.upperBound.offset - run.lowerBound.offset, to: &text)
            text.append(UInt8(ascii: "."))
            Self.append(Int64(run.upperBound.token), to: &text)
            guard text.count <= limitBytes else {
                text.removeSubrange(start...)
                isComplete = false
                break
            }
            origin = run.upperBound.offset
            isFirst = false
        }
        return (isFirst ? "" : String(decoding: text, as: UTF8.self), isComplete)
    }

    /// Reads the text form; an empty text is no runs.
    public init(decoding text: String, committedOffset: Int64) throws(DecodingError) {
        guard !text.isEmpty else { return }
        let bytes = Array(text.utf8)
        guard bytes.starts(with: Self.versionText.utf8) else { throw .unknownVersion }
        var index = Self.versionText.utf8.count
        var origin = committedOffset
        while true {
            let start = try Self.position(in: bytes, at: &index, origin: origin)
            try Self.expect(UInt8(ascii: "-"), in: bytes, at: &index)
            let end = try Self.position(in: bytes, at: &index, origin: start.offset)
            guard start < end, runs.last.map({ $0.upperBound < start }) ?? true else {
                throw .malformed(position: index)
            }
            append(start..<end)
            guard index < bytes.count else { return }
            try Self.expect(UInt8(ascii: ","), in: bytes, at: &index)
            origin = end.offset
        }
    }

    private static func append(_ number: Int64, to text: inout [UInt8]) {
        precondition(number >= 0)
        var rest = UInt64(number)
        let start = text.count
        repeat {
            text.append(digits[Int(rest % 36)])
            rest /= 36
        } while rest > 0
        text[start...].reverse()
    }

    private static func position(
        in bytes: [UInt8],
        at index: inout Int,
        origin: Int64
    ) throws(DecodingError) -> Position {
        let distance = try number(in: bytes, at: &index)
        try expect(UInt8(ascii: "."), in: bytes, at: &index)
        let token = try number(in: bytes, at: &index)
        let (offset, overflow) = origin.addingReportingOverflow(distance)
        guard !overflow, let token = UInt32(exactly: token) else { throw .malformed(position: index) }
        return Position(offset: offset, token: token)
    }

    private static func expect(_ byte: UInt8, in bytes: [UInt8], at index: inout Int) throws(DecodingError) {
        guard index < bytes.count, bytes[index] == byte else { throw .malformed(position: index) }
        index += 1
    }

    private static func number(in bytes: [UInt8], at index: inout Int) throws(DecodingError) -> Int64 {
        var value: Int64 = 0
        let start = index
        while index < bytes.count, let digit = digits.firstIndex(of: bytes[index]) {
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 36)
            let (sum, carried) = scaled.addingReportingOverflow(Int64(digit))
            guard !overflow, !carried else { throw .malformed(position: index) }
            value = sum
            index += 1
        }
        guard index > start else { throw .malformed(position: index) }
        return value
    }
}
