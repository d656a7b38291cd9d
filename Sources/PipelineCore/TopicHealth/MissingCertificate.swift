/// Decides when records of a bundle that has no certificate become dead letters.
///
///     unknown ── asked ──▶ missed since … ── grace over ──▶ tokens asked ──▶ none registered: give up
///        ▲                      ▲                                │
///        │                      └──── registered or not known ───┘
///        └── answers older than their validity
///
/// Whatever is not known makes the records wait. The time counts from when the group first missed the certificate, as
/// the group keeps it, never from a record's age. Pure: time is an argument, the questions are returned.
public struct MissingCertificate: Equatable, Sendable {
    public enum Verdict: Equatable, Sendable {
        /// The records stay where they are.
        case waits
        /// The records become dead letters.
        case giveUp
    }

    public enum Action: Equatable, Sendable {
        /// Tell that the certificate is missing.
        case alarm
        /// Ask the group since when it misses the certificate; it begins now if nobody missed it before.
        case askSince
        /// Ask whether the bundle has registered tokens.
        case askTokens
    }

    /// One question to the group and its last answer.
    private struct Question<Answer: Equatable & Sendable>: Equatable, Sendable {
        var isAsked = false
        var nextAt: MonotonicTime?
        var answer: Answer?
        var answeredAt = MonotonicTime(nanoseconds: 0)

        func isDue(now: MonotonicTime) -> Bool { !isAsked && nextAt.map { $0 <= now } ?? true }

        mutating func ask(now: MonotonicTime) {
            isAsked = true
            nextAt = now + MissingCertificate.askInterval
        }

        /// - Parameter answer: nil: it could not be had; what was known before counts until it is too old.
        mutating func take(_ answer: Answer?, now: MonotonicTime) {
            isAsked = false
            guard let answer else { return }
            self.answer = answer
            answeredAt = now
        }

        func valid(now: MonotonicTime) -> Answer? {
            answeredAt.elapsed(until: now) <= MissingCertificate.answerValidity ? answer : nil
        }
    }

    /// The time from one asking of a question to the next.
    public static let askInterval = Duration.seconds(60)
    /// For how long an answer counts.
    public static let answerValidity = Duration.seconds(180)
    /// The time from one alarm to the next.
    public static let alarmInterval = Duration.seconds(600)
    /// For how long a bundle nobody asks about any more is remembered: not shorter than the time between two alarms.
    public static let memory = Duration.seconds(600)

    /// How long the group waits for the certificate at least.
    public let grace: Duration
    private var since = Question<Duration>()
    private var tokens = Question<Bool>()
    private var nextAlarm: MonotonicTime?
    private var lastAskedAbout: MonotonicTime

    public init(grace: Duration, now: MonotonicTime) {
        self.grace = grace
        lastAskedAbout = now
    }

    // MARK: What stands

    /// The verdict on the bundle's records.
    public func verdict(now: MonotonicTime) -> Verdict {
        isGraceOver(now: now) && tokens.valid(now: now) == false ? .giveUp : .waits
    }

    /// No record of the bundle has been asked about for so long that it can be forgotten.
    public func isForgotten(now: MonotonicTime) -> Bool {
        lastAskedAbout.elapsed(until: now) >= Self.memory && !since.isAsked && !tokens.isAsked
    }

    private func isGraceOver(now: MonotonicTime) -> Bool {
        guard let missed = since.valid(now: now) else { return false }
        return missed + since.answeredAt.elapsed(until: now) >= grace
    }

    // MARK: Inputs

    /// A record of the bundle is there.
    public mutating func askedAbout(now: MonotonicTime) {
        lastAskedAbout = max(lastAskedAbout, now)
    }

    /// Time goes by, or there is news: what is to be done now.
    public mutating func tick(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        if nextAlarm.map({ $0 <= now }) ?? true {
            nextAlarm = now + Self.alarmInterval
            actions.append(.alarm)
        }
        if since.isDue(now: now) {
            since.ask(now: now)
            actions.append(.askSince)
        }
        // Not before the grace is over: an answer from before would say nothing of what registered meanwhile.
        if isGraceOver(now: now), tokens.isDue(now: now) {
            tokens.ask(now: now)
            actions.append(.askTokens)
        }
        return actions
    }

    /// The group has answered ``Action/askSince``.
    ///
    /// - Parameters:
    ///   - milliseconds: UNIX time at which the group first missed the certificate; nil: not known. One that lies
    ///     ahead is of a clock that is ahead, and counts as now.
    ///   - unixMilliseconds: UNIX time now.
    public mutating func heardSince(_ milliseconds: Int64?, unixMilliseconds: Int64, now: MonotonicTime) {
        since.take(
            // A time that is no time counts as now, too.
            milliseconds.map { $0 > 0 ? .milliseconds(max(0, unixMilliseconds - $0)) : .zero },
            now: now
        )
    }

    /// The token state has answered ``Action/askTokens``.
    ///
    /// - Parameter isAny: a token of the bundle is registered; nil: not known.
    public mutating func heardTokens(_ isAny: Bool?, now: MonotonicTime) {
        tokens.take(isAny, now: now)
    }
}
