/// Which topics of a partition have parked lag, and from where on it counts: the metadata of a commit to push.parked.
///
/// Text form, ASCII: `1`, then for each topic `|` hash `.` cursor, in base 36, the cursor relative to the committed offset,
/// which is the smallest cursor; then, if it fits, `:` and the ``DoneRanges`` relative to the cursor. `|*` says that not all
/// topics had room.
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

    private static let version = "1"
    private static let others = "*"

    /// - Parameters:
    ///   - committedOffset: not above any cursor.
    ///   - limitBytes: most bytes of text.
    public func encoded(committedOffset: Int64, limitBytes: Int) -> String {
        guard !isEmpty else { return "" }
        let named = lags.sorted { ($0.cursor, $0.topic) < ($1.cursor, $1.topic) }
            .map { lag in (lag, "\(String(lag.topic, radix: 36)).\(String(lag.cursor - committedOffset, radix: 36))") }
        var parts: [String] = []
        var left = limitBytes - Self.version.utf8.count - 1 - Self.others.utf8.count
        for (_, name) in named {
            guard name.utf8.count < left else { break }
            parts.append(name)
            left -= name.utf8.count + 1
        }
        let isComplete = parts.count == named.count && !othersMayLag
        for (index, lag) in lags.isEmpty ? [] : Array(zip(parts.indices, named.map(\.0))) where !lag.done.isEmpty {
            let done = lag.done.encoded(committedOffset: lag.cursor, limitBytes: left - 1)
            guard !done.isEmpty else { continue }
            parts[index] += ":" + done
            left -= done.utf8.count + 1
        }
        return ([Self.version] + (isComplete ? [] : [Self.others]) + parts).joined(separator: "|")
    }

    /// Reads the text form; an empty text is no lag.
    public init(decoding text: String, committedOffset: Int64) throws(DecodingError) {
        guard !text.isEmpty else { return }
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts[0] == Self.version else { throw DecodingError() }
        for part in parts.dropFirst() {
            if part == Self.others {
                othersMayLag = true
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
    }
}
