import NIOCore

/// Decides when to ask for the map of slots. At the start, after hints of a change, repeatedly while it is incomplete,
/// and at intervals in any case. Time is an argument.
struct ClusterRefresh {
    struct Settings {
        /// Time from a good answer to the next question without a reason.
        var interval: TimeAmount
        /// Least time from a good answer to the next question, however many redirections call for one.
        var minimumInterval: TimeAmount
        /// The longest wait for a node's answer before another node is asked.
        var timeout: TimeAmount
        /// The wait after this many failures in a row, from 1 on.
        var delay: @Sendable (_ attempt: Int) -> TimeAmount
    }

    private enum State {
        /// No node is being asked. Next: asking.
        case idle(due: NIODeadline)
        /// A node was asked, or is being connected to for the question. Next: idle.
        case asking(deadline: NIODeadline)
    }

    private let settings: Settings
    private var state: State
    /// No question is asked before this time.
    private var earliest: NIODeadline
    /// A hint came while a node was being asked: the answer may be older than the hint.
    private var isDoubtful = false
    /// Failures and incomplete maps in a row.
    private var failures = 0
    /// Questions so far: the number of the current one, which also selects the node to ask.
    private(set) var question = 0

    /// Begins with the first question due at once.
    init(settings: Settings, now: NIODeadline) {
        self.settings = settings
        state = .idle(due: now)
        earliest = now
    }

    /// The time at which ``timerFired(now:)`` has something to do.
    var nextDeadline: NIODeadline {
        switch state {
        case .idle(let due): due
        case .asking(let deadline): deadline
        }
    }

    /// There is a hint of a change: a redirection, a lost connection.
    mutating func request(now: NIODeadline) {
        guard case .idle(let due) = state else {
            isDoubtful = true
            return
        }
        state = .idle(due: min(due, max(now, earliest)))
    }

    /// Returns true if a node is to be asked now: the next in turn, numbered by ``question``.
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

    /// The answer to that question is still awaited. A node that hung may send an old map long after.
    func isAwaiting(_ question: Int) -> Bool {
        guard case .asking = state else { return false }
        return question == self.question
    }
}
