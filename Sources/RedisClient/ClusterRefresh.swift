import NIOCore

/// Decides when the map of slots is asked for: at the start, when something hinted that it has changed, again and again
/// while it is incomplete, and now and then all the same. Time is an argument.
struct ClusterRefresh {
    struct Settings {
        /// From a good answer to the next question that nobody asked for.
        var interval: TimeAmount
        /// From a good answer to the next question, however many redirections ask for one.
        var minimumInterval: TimeAmount
        /// How long a node may take to answer before another is asked.
        var timeout: TimeAmount
        /// How long to wait after so many failures in a row, from 1 on.
        var delay: @Sendable (_ attempt: Int) -> TimeAmount
    }

    private enum State {
        /// Nobody is being asked. Next: asking.
        case idle(due: NIODeadline)
        /// A node was asked, or is being connected to for it. Next: idle.
        case asking(deadline: NIODeadline)
    }

    private let settings: Settings
    private var state: State
    /// No question before.
    private var earliest: NIODeadline
    /// A hint came while a node was being asked: its answer may be older than that.
    private var isDoubtful = false
    /// Failures and incomplete maps in a row.
    private var failures = 0
    /// Questions so far: the number of the one under way, and whose turn it is to be asked.
    private(set) var question = 0

    /// The first question is due at once.
    init(settings: Settings, now: NIODeadline) {
        self.settings = settings
        state = .idle(due: now)
        earliest = now
    }

    /// When ``timerFired(now:)`` has something to do.
    var nextDeadline: NIODeadline {
        switch state {
        case .idle(let due): due
        case .asking(let deadline): deadline
        }
    }

    /// Something hinted at a change: a redirection, a lost connection.
    mutating func request(now: NIODeadline) {
        guard case .idle(let due) = state else {
            isDoubtful = true
            return
        }
        state = .idle(due: min(due, max(now, earliest)))
    }

    /// Returns whether a node is to be asked now: the next one, in which ``question`` counts.
    mutating func timerFired(now: NIODeadline) -> Bool {
        guard nextDeadline <= now else { return false }
        if case .asking = state {
            failed(now: now)
            return false
        }
        question += 1
        isDoubtful = false
        state = .asking(deadline: now + settings.timeout)
        return true
    }

    /// A map came.
    ///
    /// - Parameter isSettled: every slot has a master and every master is connected.
    mutating func succeeded(isSettled: Bool, now: NIODeadline) {
        guard case .asking = state else { return }
        guard isSettled else { return failed(now: now) }
        failures = 0
        earliest = now + settings.minimumInterval
        state = .idle(due: isDoubtful ? earliest : now + settings.interval)
    }

    /// The question had no good answer.
    mutating func failed(now: NIODeadline) {
        guard case .asking = state else { return }
        failures += 1
        earliest = now + settings.delay(failures)
        state = .idle(due: earliest)
    }

    /// Whether the answer to that question is still waited for: a node that hung may tell an old map long after.
    func isAwaiting(_ question: Int) -> Bool {
        guard case .asking = state else { return false }
        return question == self.question
    }
}
