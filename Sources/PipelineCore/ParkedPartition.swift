/// What lies parked in one partition of push.parked, per topic, and what of it is to be read when.
///
/// All topics of a partition share one reader. A topic is *in step* while it takes what the reader comes by; one that does
/// not work, or has no room, leaves it, and the reader comes back for it later: so one topic never blocks another's return.
/// Topics are told apart by ``ParkedLags/topicHash(environment:bundleID:)``. Pure; every choice is by offset and hash.
public struct ParkedPartition: Sendable {
    /// Stands for the topics that a commit had no room to name.
    public static let others: UInt64 = 0

    public struct Lag: Equatable, Sendable {
        /// Everything before was read; for a topic in step, or the reader is there.
        fileprivate var nextRead: Int64
        fileprivate var isInStep = false
        /// All acknowledged copies lie below.
        fileprivate(set) public var end: Int64
        /// Copies that were handed over and are not acknowledged.
        fileprivate(set) public var outstanding = 0
        /// Batches that were read and have not come to the lanes.
        fileprivate(set) public var batches = 0
        /// The broker did not say where it stored a copy: nobody knows the end.
        fileprivate(set) public var hasLostEnd = false
    }

    /// What the reader is to do.
    public enum Reading: Equatable, Sendable {
        /// Nobody wants anything.
        case stop
        /// Read on.
        case goOn
        case begin(at: Int64)
    }

    public private(set) var lags: [UInt64: Lag] = [:]
    /// Where the next copy is stored, or further on; nil: not known.
    public private(set) var end: Int64?
    /// The reader's next offset; nil while it does not read.
    public private(set) var position: Int64?

    /// Offsets that are rather read and skipped than jumped over.
    private static let shortWay: Int64 = 1000

    public init() {}

    public var isEmpty: Bool { lags.isEmpty }

    // MARK: Where things are

    /// The broker said where the partition ends.
    public mutating func noteEnd(_ offset: Int64) {
        end = max(end ?? offset, offset)
        for (topic, lag) in lags where lag.hasLostEnd && lag.outstanding == 0 {
            lags[topic]?.end = max(lag.end, offset)
            lags[topic]?.hasLostEnd = false
        }
    }

    /// The broker does not say any more what it said: where the partition ends must be asked for again.
    public var hasLostEnd: Bool { lags.values.contains { $0.hasLostEnd && $0.outstanding == 0 } }

    /// Lag that another assignment left, from `cursor` to the known end.
    public mutating func inherit(_ topic: UInt64, from cursor: Int64) {
        guard let end, lags[topic] == nil else { return }
        lags[topic] = Lag(nextRead: cursor, end: end)
    }

    /// A topic that has no lag of its own, but may have under ``others``.
    ///
    /// - Returns: where its lag begins, if that is news.
    public mutating func adopt(_ topic: UInt64) -> Int64? {
        guard lags[topic] == nil, let unnamed = lags[Self.others] else { return nil }
        let nextRead = progress(of: unnamed)
        lags[topic] = Lag(nextRead: nextRead, isInStep: unnamed.isInStep, end: unnamed.end)
        return nextRead
    }

    // MARK: Handing over

    /// A copy is on its way. The end must be known.
    ///
    /// - Returns: where the topic's lag begins, if it has none so far.
    public mutating func handedOver(_ topic: UInt64) -> Int64? {
        if lags[topic] != nil {
            lags[topic]?.outstanding += 1
            return nil
        }
        guard let end else { preconditionFailure("nothing is parked before the partition's end is known") }
        lags[topic] = Lag(nextRead: end, isInStep: position == end, end: end, outstanding: 1)
        return end
    }

    /// The broker has stored a copy.
    ///
    /// - Parameter offset: negative: it did not say where.
    public mutating func stored(_ topic: UInt64, at offset: Int64) {
        guard var lag = lags[topic] else { return }
        lag.outstanding -= 1
        if offset >= 0 {
            end = max(end ?? 0, offset + 1)
            lag.end = max(lag.end, offset + 1)
        } else {
            lag.hasLostEnd = true
        }
        lags[topic] = lag
    }

    /// A copy was given up.
    public mutating func givenUp(_ topic: UInt64) {
        lags[topic]?.outstanding -= 1
    }

    // MARK: Reading

    /// Whether everything parked of a topic has come to the lanes: what is new may follow.
    public func isCaughtUp(_ topic: UInt64) -> Bool {
        guard let lag = lags[topic] else { return true }
        return lag.outstanding == 0 && lag.batches == 0 && !lag.hasLostEnd && progress(of: lag) >= lag.end
    }

    /// Offsets between what was read and the last copy of a topic, those of other topics among them.
    public func rest(of topic: UInt64) -> Int64 {
        lags[topic].map { max(0, $0.end - progress(of: $0)) } ?? 0
    }

    /// Decides what the reader does next.
    ///
    /// - Parameter wants: whether a topic works and has room.
    public mutating func read(wants: (UInt64) -> Bool) -> Reading {
        let wanting = lags.keys.filter { wants($0) }
        let starts = wanting.compactMap { topic -> Int64? in
            guard let lag = lags[topic], progress(of: lag) < lag.end else { return nil }
            return progress(of: lag)
        }
        guard let target = starts.min() else {
            guard position != nil, lags.isEmpty else { return position == nil ? .stop : .goOn }
            halt()
            return .stop
        }
        if let position, position <= target, target - position <= Self.shortWay {
            for topic in wanting where progress(of: lags[topic]) >= position { step(topic, in: true) }
            return .goOn
        }
        halt()
        position = target
        for topic in wanting { step(topic, in: true) }
        return .begin(at: target)
    }

    /// Whether a topic takes the copy at an offset that the reader has come to.
    public func takes(_ topic: UInt64, at offset: Int64) -> Bool {
        guard let lag = lags[topic] else { return false }
        return lag.isInStep && lag.nextRead <= offset
    }

    /// The reader comes by a copy that the topic has no room for: it leaves the step.
    public mutating func leave(_ topic: UInt64, at offset: Int64) {
        guard lags[topic]?.isInStep == true else { return }
        step(topic, in: false)
        guard let nextRead = lags[topic]?.nextRead else { return }
        lags[topic]?.nextRead = max(nextRead, offset)
    }

    /// The reader has passed everything before an offset.
    public mutating func passed(upTo offset: Int64) {
        guard let position, position < offset else { return }
        self.position = offset
        // What was handed over by another after the end was asked for is nobody's lag.
        end = max(end ?? offset, offset)
    }

    /// The reader was stopped; whoever was in step goes on from there.
    public mutating func halt() {
        for topic in lags.keys { step(topic, in: false) }
        position = nil
    }

    /// Copies before an offset are no longer there.
    public mutating func skip(to offset: Int64) {
        for (topic, lag) in lags { lags[topic]?.nextRead = max(lag.nextRead, min(offset, lag.end)) }
    }

    /// A batch with copies of the topic is on its way to the lanes.
    public mutating func batchTaken(_ topic: UInt64) {
        lags[topic]?.batches += 1
    }

    public mutating func batchPassed(_ topic: UInt64) {
        lags[topic]?.batches -= 1
    }

    /// The topic failed: what was read and has no outcome is read again, from the first of it.
    public mutating func rewind(_ topic: UInt64, to cursor: Int64) {
        guard lags[topic] != nil else { return }
        lags[topic]?.isInStep = false
        lags[topic]?.nextRead = cursor
        lags[topic]?.batches = 0
    }

    /// Everything of the topic has its outcome.
    public mutating func finish(_ topic: UInt64) {
        precondition(isCaughtUp(topic))
        lags[topic] = nil
    }

    private func progress(of lag: Lag?) -> Int64 {
        guard let lag else { return 0 }
        guard lag.isInStep, let position else { return lag.nextRead }
        return max(lag.nextRead, position)
    }

    /// Joins or leaves the reader; what it has passed in step counts as read.
    private mutating func step(_ topic: UInt64, in isInStep: Bool) {
        guard var lag = lags[topic], lag.isInStep != isInStep else { return }
        lag.nextRead = progress(of: lag)
        lag.isInStep = isInStep
        lags[topic] = lag
    }
}
