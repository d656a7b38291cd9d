/// How far a reader of a topic's partitions has come, since when it has known everything that was there, and when it must begin
/// anew.
///
/// Now and then it is asked where the partitions begin and end. Reading begins at the beginnings; when everything before the ends
/// has been read, what was read is complete as of the time of the question. Where the answers do not fit what was read before,
/// records were deleted unread or the topic is another one: nothing is complete until all of it has been read again.
public struct FollowedTopic: Sendable {
    /// What a partition holds, as the broker tells it.
    public struct Extent: Equatable, Sendable {
        /// The oldest offset there is.
        public var start: Int64
        /// One past the newest.
        public var end: Int64

        public init(start: Int64, end: Int64) {
            self.start = start
            self.end = end
        }
    }

    /// What an answer asks of the reader.
    public enum Action: Equatable, Sendable {
        case goOn
        /// Reads the partitions from these offsets on; what was fetched from elsewhere is not taken any more.
        case begin(at: [Int64])
    }

    private struct Question {
        var askedAt: MonotonicTime
        var ends: [Int64]
    }

    private struct Reading {
        /// The next offset to be read, by partition.
        var positions: [Int64]
        /// As they were told last.
        var ends: [Int64]
        var question: Question?
        var completeAsOf: MonotonicTime?

        /// Whether this may still be the topic that was read, with nothing taken away that was not read.
        func fits(_ extents: [Extent]) -> Bool {
            extents.indices.allSatisfy { index in
                let (extent, position) = (extents[index], positions[index])
                return extent.start <= position && position <= extent.end && ends[index] <= extent.end
            }
        }

        mutating func ask(_ new: Question) {
            ends = new.ends
            // A question that is still open is answered sooner than a new one.
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
    /// Between two questions.
    private let interval: Duration
    /// After something failed.
    private var pause: Duration { min(interval, .seconds(1)) }
    private var nextQuestion = MonotonicTime(nanoseconds: 0)
    /// Nil while it is lost.
    private var reading: Reading?

    /// - Parameters:
    ///   - partitions: how many the topic has; at least one.
    ///   - interval: from one question to the next; after a failure a second at most.
    public init(partitions: Int, interval: Duration) {
        precondition(partitions > 0)
        self.partitions = partitions
        self.interval = interval
    }

    /// Everything published before this time has been read; nil: that is not so, or not known.
    public var completeAsOf: MonotonicTime? { reading?.completeAsOf }

    /// Whether the reader has no place in the topic; the next answer gives it one.
    public var isLost: Bool { reading == nil }

    /// Whether the broker is to be asked now what the partitions hold.
    public func isQuestionDue(now: MonotonicTime) -> Bool {
        nextQuestion <= now
    }

    /// At `askedAt` the partitions held at least this.
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

    /// The broker does not say what the partitions hold; what was read is as complete as it was.
    ///
    /// - Parameter isGone: there is no such topic now. If it comes back it is another one, whatever its offsets.
    public mutating func notAnswered(now: MonotonicTime, isGone: Bool) {
        if isGone { reading = nil }
        nextQuestion = now + pause
    }

    /// The reader cannot go on where it is, or could not begin there. That it still cannot puts nothing off.
    public mutating func lost(now: MonotonicTime) {
        guard !isLost else { return }
        reading = nil
        nextQuestion = now + pause
    }

    /// Everything before `offset` has been read, or is not there. Says nothing about a place that was lost.
    public mutating func advance(_ partition: Int, to offset: Int64) {
        reading?.advance(partition, to: offset)
    }
}
