/// The progress of a topic's reader: its positions, completeness and restarts.
///
/// From time to time the broker is asked for the begin and end of each partition. Reading starts at the begins; once
/// everything before the ends was read, the reader's knowledge is complete as of the time of the question. If an answer
/// does not fit the records read before, records were deleted unread or the topic was replaced: nothing is complete
/// until all of it was read again.
public struct FollowedTopic: Sendable {
    /// The offsets of a partition, as the broker reports them.
    public struct Extent: Equatable, Sendable {
        /// The oldest offset in the partition.
        public var start: Int64
        /// One past the newest offset.
        public var end: Int64

        public init(start: Int64, end: Int64) {
            self.start = start
            self.end = end
        }
    }

    /// The next step of the reader after an answer.
    public enum Action: Equatable, Sendable {
        case goOn
        /// Read the partitions from these offsets on; discard records fetched from elsewhere.
        case begin(at: [Int64])
    }

    private struct Question {
        var askedAt: MonotonicTime
        var ends: [Int64]
    }

    private struct Reading {
        /// The next offset to be read, by partition.
        var positions: [Int64]
        /// The ends of the latest answer, by partition.
        var ends: [Int64]
        var question: Question?
        var completeAsOf: MonotonicTime?

        /// This may still be the topic that was read, with no unread record deleted.
        func fits(_ extents: [Extent]) -> Bool {
            extents.indices.allSatisfy { index in
                let (extent, position) = (extents[index], positions[index])
                return extent.start <= position && position <= extent.end && ends[index] <= extent.end
            }
        }

        mutating func ask(_ new: Question) {
            ends = new.ends
            // An open question is answered sooner than a new one.
            if question == nil { question = new }
            judge()
        }

        mutating func advance(_ partition: Int, to offset: Int64) {
            positions[partition] = max(positions[partition], offset)
            judge()
        }

        private mutating func judge() {
            guard let question, zip(positions, question.ends).allSatisfy({ $0 >= $1 }) else { return }
            completeAsOf = question.askedAt
            self.question = nil
        }
    }

    private let partitions: Int
    /// Time between two questions.
    private let interval: Duration
    /// Time to the next question after a failure.
    private var pause: Duration { min(interval, .seconds(1)) }
    private var nextQuestion = MonotonicTime(nanoseconds: 0)
    /// Nil while the reader has no place in the topic.
    private var reading: Reading?

    /// - Parameters:
    ///   - partitions: the number of the topic's partitions; at least one.
    ///   - interval: time from one question to the next; after a failure a second at most.
    public init(partitions: Int, interval: Duration) {
        precondition(partitions > 0)
        self.partitions = partitions
        self.interval = interval
    }

    /// Everything published before this time has been read; nil: not so, or not known.
    public var completeAsOf: MonotonicTime? { reading?.completeAsOf }

    /// The reader has no place in the topic; the next answer gives it one.
    public var isLost: Bool { reading == nil }

    /// The broker is due to be asked for the extents of the partitions.
    public func isQuestionDue(now: MonotonicTime) -> Bool {
        nextQuestion <= now
    }

    /// The broker's answer: at `askedAt` the partitions held at least these extents.
    public mutating func answered(_ extents: [Extent], askedAt: MonotonicTime) -> Action {
        precondition(extents.count == partitions)
        nextQuestion = askedAt + interval
        let question = Question(askedAt: askedAt, ends: extents.map(\.end))
        guard reading?.fits(extents) == true else {
            let starts = extents.map(\.start)
            reading = Reading(positions: starts, ends: question.ends)
            reading?.ask(question)
            return .begin(at: starts)
        }
        reading?.ask(question)
        return .goOn
    }

    /// The broker does not report the extents of the partitions; the reader stays as complete as it was.
    ///
    /// - Parameter isGone: the topic does not exist now. If it comes back it is another one, whatever its offsets.
    public mutating func notAnswered(now: MonotonicTime, isGone: Bool) {
        if isGone { reading = nil }
        nextQuestion = now + pause
    }

    /// The reader cannot go on at its position, or could not begin there. A repeated call postpones nothing.
    public mutating func lost(now: MonotonicTime) {
        guard !isLost else { return }
        reading = nil
        nextQuestion = now + pause
    }

    /// Everything before `offset` has been read, or does not exist. Without effect while the reader is lost.
    public mutating func advance(_ partition: Int, to offset: Int64) {
        reading?.advance(partition, to: offset)
    }
}
