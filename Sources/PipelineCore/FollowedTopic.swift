/// How far a reader of a topic's partitions has come, and since when it has known everything that was there.
///
/// Now and then the partitions' ends are asked for. When everything before them has been read, what was read is complete as of the
/// time of the question.
public struct FollowedTopic: Sendable {
    private struct Question {
        var askedAt: MonotonicTime
        var ends: [Int64]
    }

    /// The next offset to be read, by partition.
    public private(set) var positions: [Int64]
    /// Everything published before this time has been read; nil: not yet.
    public private(set) var completeAsOf: MonotonicTime?
    private var question: Question?

    /// - Parameter starts: where reading begins, by partition; at least one.
    public init(starts: [Int64]) {
        precondition(!starts.isEmpty)
        positions = starts
    }

    /// Everything before `offset` has been read, or is not there.
    public mutating func advance(_ partition: Int, to offset: Int64) {
        positions[partition] = max(positions[partition], offset)
        judge()
    }

    /// The partitions ended so at `askedAt`, at the earliest.
    public mutating func asked(at askedAt: MonotonicTime, ends: [Int64]) {
        precondition(ends.count == positions.count)
        // A question that is still open is answered sooner than a new one.
        guard question == nil else { return }
        question = Question(askedAt: askedAt, ends: ends)
        judge()
    }

    /// What was read is not complete any more: a partition begins anew.
    public mutating func restart(_ partition: Int, at offset: Int64) {
        positions[partition] = offset
        completeAsOf = nil
        question = nil
    }

    /// Whether everything published before `age` ago is known.
    public func isComplete(within age: Duration, now: MonotonicTime) -> Bool {
        guard let completeAsOf else { return false }
        return now <= completeAsOf + age
    }

    private mutating func judge() {
        guard let question, zip(positions, question.ends).allSatisfy({ $0 >= $1 }) else { return }
        completeAsOf = question.askedAt
        self.question = nil
    }
}
