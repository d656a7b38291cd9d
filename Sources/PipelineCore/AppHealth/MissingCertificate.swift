/// Decides when records of a bundle that has no certificate become dead letters.
///
///     unknown ── asked ──▶ missed since … ── grace over ──▶ tokens asked ──▶ none registered: give up
///        ▲                      ▲                                │
///        │                      └──── registered or not known ───┘
///        └── answers older than their validity
///
/// While an answer is missing the records wait. The time counts from the group's first miss of the certificate, as kept
/// by the group, never from a record's age. Pure: time is an argument, the questions are returned.
public struct MissingCertificate: Equatable, Sendable {
    public enum Verdict: Equatable, Sendable {
        /// The records stay where they are.
        case waits
        /// The records become dead letters.
        case giveUp
    }

    public enum Action: Equatable, Sendable {
        /// Report that the certificate is missing.
        case alarm
        /// Ask the group for the time of its first miss of the certificate; it is now if there was none before.
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

        /// - Parameter answer: nil: no answer; the previous one counts until it is too old.
        mutating func receiveAnswer(_ answer: Answer?, now: MonotonicTime) {
            isAsked = false
            guard let answer else { return }
            self.answer = answer
            answeredAt = now
        }

        func valid(now: MonotonicTime) -> Answer? {
            answeredAt.elapsed(until: now) <= MissingCertificate.answerValidity ? answer : nil
        }
    }

    /// Time between two askings of a question.
    public static let askInterval = Duration.seconds(60)
    /// Validity of an answer.
    public static let answerValidity = Duration.seconds(180)
    /// Time between two alarms.
    public static let alarmInterval = Duration.seconds(600)
    /// Time after which an unused bundle is forgotten: not shorter than the time between two alarms.
    public static let memory = Duration.seconds(600)

    /// The least time that the group waits for the certificate.
    public let grace: Duration
    private var since = Question<Duration>()
    private var tokens = Question<Bool>()
    private var nextAlarm: MonotonicTime?
    private var lastAskedAbout: MonotonicTime

    public init(grace: Duration, now: MonotonicTime) {
        self.grace = grace
        lastAskedAbout = now
    }

    // MARK: State

    /// The verdict on the bundle's records.
    public func verdict(now: MonotonicTime) -> Verdict {
        isGraceOver(now: now) && tokens.valid(now: now) == false ? .giveUp : .waits
    }

    /// No record of the bundle has come for so long that the bundle can be forgotten.
    public func isForgotten(now: MonotonicTime) -> Bool {
        lastAskedAbout.elapsed(until: now) >= Self.memory && !since.isAsked && !tokens.isAsked
    }

    private func isGraceOver(now: MonotonicTime) -> Bool {
        guard let missed = since.valid(now: now) else { return false }
        return missed + since.answeredAt.elapsed(until: now) >= grace
    }

    // MARK: Inputs

    /// A record of the bundle has come.
    public mutating func askedAbout(now: MonotonicTime) {
        lastAskedAbout = max(lastAskedAbout, now)
    }

    /// Returns the actions for this time and the news so far.
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
        // Not before the grace is over: an earlier answer would miss tokens that registered meanwhile.
        if isGraceOver(now: now), tokens.isDue(now: now) {
            tokens.ask(now: now)
            actions.append(.askTokens)
        }
        return actions
    }

    /// The group has answered ``Action/askSince``.
    ///
    /// - Parameters:
    ///   - milliseconds: UNIX time of the group's first miss of the certificate; nil: not known. A time that lies ahead
    ///     is from a clock that is ahead, and counts as now.
    ///   - unixMilliseconds: UNIX time now.
    public mutating func heardSince(_ milliseconds: Int64?, unixMilliseconds: Int64, now: MonotonicTime) {
        since.receiveAnswer(
            // An invalid time counts as now, too.
            milliseconds.map { $0 > 0 ? .milliseconds(max(0, unixMilliseconds - $0)) : .zero },
            now: now
        )
    }

    /// The token state has answered ``Action/askTokens``.
    ///
    /// - Parameter isAny: a token of the bundle is registered; nil: not known.
    public mutating func heardTokens(_ isAny: Bool?, now: MonotonicTime) {
        tokens.receiveAnswer(isAny, now: now)
    }
}
