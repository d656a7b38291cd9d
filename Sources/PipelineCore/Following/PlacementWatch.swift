/// Decides which records lie in a partition that Kafka's default partitioner would not have chosen for their keys.
///
/// The partition follows from the number of partitions, which may grow at any time, and a reader is not told of that.
/// So a record is only suspected at first. It counts as misplaced once the brokers have said, after it was read, that
/// there are as many partitions as before: then there were as many when it was published. Some records are not judged,
/// for they were published
///
/// - before the number was first seen: another one may have held
/// - less than ``publisherPatience`` after a change: publishers learn of it later
/// - at a time that is not known
///
/// Brokers are asked while there are suspected records, at most once in ``questionInterval``. No I/O, no clock.
public struct PlacementWatch: Sendable {
    /// Misplaced records of one topic.
    public struct Misplaced: Sendable, Equatable {
        /// Index of the topic.
        public let topic: Int32
        public let records: Int
        /// Of the last of them: the partition in which it lies, and the one to which its key leads.
        public let found: Int32
        public let expected: Int32
        /// The topic's were not told lately.
        public let isToBeTold: Bool
    }

    private struct Suspects {
        var records = 0
        var found: Int32 = 0
        var expected: Int32 = 0
    }

    /// Time between two questions.
    public static let questionInterval = Duration.seconds(60)
    /// Time between two tellings of one topic. [ours]
    public static let alarmInterval = Duration.seconds(600)
    /// The longest time in which publishers learn of new partitions: twice the five minutes that `metadata.max.age.ms`
    /// of Java's client and `topic.metadata.refresh.interval.ms` of librdkafka are unless set.
    public static let publisherPatience = Duration.seconds(600)

    /// Number of partitions, at least 1.
    public private(set) var partitionCount: Int32
    /// Earliest publishing time of records that are judged, UNIX milliseconds.
    private var judgedFrom: Int64
    /// Suspected records by topic, behind the last question and before it.
    private var fresh: [Int32: Suspects] = [:]
    private var asked: [Int32: Suspects] = [:]
    private var isAsking = false
    private var nextQuestion = MonotonicTime(nanoseconds: 0)
    /// By topic: no telling before this time.
    private var nextAlarm: [Int32: MonotonicTime] = [:]
    /// By partition: offset of the last suspected record. One that is read again is not suspected twice.
    private var lastSuspected: [Int32: Int64] = [:]

    /// - Parameters:
    ///   - partitionCount: as the brokers said.
    ///   - seenAt: the time of that, UNIX milliseconds.
    public init(partitionCount: Int32, seenAt: Int64) {
        precondition(partitionCount > 0, "a topic has at least one partition")
        self.partitionCount = partitionCount
        judgedFrom = seenAt
    }

    /// Suspects a record whose key leads to another partition.
    ///
    /// - Parameters:
    ///   - topic: index of its topic.
    ///   - found: the partition in which it lies.
    ///   - expected: the partition to which its key leads.
    ///   - publishedAt: its timestamp, UNIX milliseconds; nil: not known.
    public mutating func suspect(topic: Int32, found: Int32, expected: Int32, offset: Int64, publishedAt: Int64?) {
        guard let publishedAt, judgedFrom <= publishedAt, lastSuspected[found] ?? -1 < offset else { return }
        lastSuspected[found] = offset
        fresh[topic, default: Suspects()].records += 1
        fresh[topic]?.found = found
        fresh[topic]?.expected = expected
    }

    /// Takes the question for the number of partitions, if one is due.
    ///
    /// - Returns: true: it is to be asked now, and ``answered(_:unixMilliseconds:now:)`` told.
    public mutating func takeQuestion(now: MonotonicTime) -> Bool {
        guard !fresh.isEmpty, !isAsking, nextQuestion <= now else { return false }
        isAsking = true
        nextQuestion = now + Self.questionInterval
        asked = fresh
        fresh = [:]
        return true
    }

    /// Takes the answer.
    ///
    /// - Parameters:
    ///   - count: nil: there was none; the question is asked again.
    ///   - unixMilliseconds: the time of the answer.
    /// - Returns: the records that are misplaced, in the order of the topics.
    public mutating func answered(
        _ count: Int32?,
        unixMilliseconds: Int64,
        now: MonotonicTime
    ) -> [Misplaced] {
        isAsking = false
        let judged = asked
        asked = [:]
        guard let count, count > 0 else {
            // The suspects that came meanwhile are the newer ones.
            fresh = judged.merging(fresh) { old, new in
                Suspects(records: old.records + new.records, found: new.found, expected: new.expected)
            }
            return []
        }
        guard count == partitionCount else {
            partitionCount = count
            judgedFrom = unixMilliseconds + Int64(Self.publisherPatience / .milliseconds(1))
            fresh = [:]
            return []
        }
        return judged.sorted { $0.key < $1.key }.map { topic, suspects in
            let isToBeTold = nextAlarm[topic].map { $0 <= now } ?? true
            if isToBeTold { nextAlarm[topic] = now + Self.alarmInterval }
            return Misplaced(
                topic: topic,
                records: suspects.records,
                found: suspects.found,
                expected: suspects.expected,
                isToBeTold: isToBeTold
            )
        }
    }
}
