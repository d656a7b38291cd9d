import Logging
import PipelineCore

/// Decides which log lines are written: of each kind a burst, then so many a second. What is left out is counted, and
/// told with the next line of its kind, or when no more of it come.
struct LogRateLimiter {
    /// Lines that say the same of different things.
    struct Kind: Hashable {
        var level: Logger.Level
        var logger: String
        var message: String

        /// Stands for all kinds beyond those that are told apart.
        static let others = Kind(level: .notice, logger: "belfry", message: "other messages")
    }

    enum Verdict: Equatable {
        /// The line is written. So many of its kind were left out since the last one.
        case write(leftOut: Int)
        case leaveOut
    }

    /// Lines of a kind that were left out.
    struct LeftOut: Equatable {
        var kind: Kind
        var lines: Int
    }

    private struct Account {
        /// The time at which all lines so far would have been written at the limited rate.
        var paidUntil: MonotonicTime
        var leftOut = 0
        var lastLeftOut = MonotonicTime(nanoseconds: 0)
    }

    private let burst: Duration
    private let interval: Duration
    private let silence: Duration
    private let limitKinds: Int
    private var accounts: [Kind: Account] = [:]

    /// - Parameters:
    ///   - burst: lines of a kind that may come at once, at least 1.
    ///   - interval: the time between two lines of a kind in the long run.
    ///   - silence: see ``takeSilent(now:)``.
    init(
        burst: Int = LogLimits.burst,
        interval: Duration = LogLimits.interval,
        silence: Duration = LogLimits.silence,
        limitKinds: Int = LogLimits.kinds
    ) {
        precondition(burst > 0 && limitKinds > 0, "something is written")
        self.burst = interval * (burst - 1)
        self.interval = interval
        self.silence = silence
        self.limitKinds = limitKinds
    }

    mutating func judge(_ kind: Kind, now: MonotonicTime) -> Verdict {
        let kind = known(kind, now: now)
        var account = accounts[kind] ?? Account(paidUntil: now)
        defer { accounts[kind] = account }
        guard now.elapsed(until: account.paidUntil) <= burst else {
            account.leftOut += 1
            account.lastLeftOut = now
            return .leaveOut
        }
        account.paidUntil = max(account.paidUntil, now) + interval
        defer { account.leftOut = 0 }
        return .write(leftOut: account.leftOut)
    }

    /// Takes the counts of the kinds of which no line was left out for a while, sorted by message: their rate has
    /// fallen.
    mutating func takeSilent(now: MonotonicTime) -> [LeftOut] {
        let silent = accounts.filter { $0.value.leftOut > 0 && $0.value.lastLeftOut + silence <= now }
        for kind in silent.keys { accounts[kind]?.leftOut = 0 }
        return silent.map { LeftOut(kind: $0.key, lines: $0.value.leftOut) }
            .sorted { ($0.kind.message, $0.kind.logger) < ($1.kind.message, $1.kind.logger) }
    }

    /// The kind under which a line is counted.
    private mutating func known(_ kind: Kind, now: MonotonicTime) -> Kind {
        guard accounts[kind] == nil, accounts.count >= limitKinds else { return kind }
        // An account without debt and left-out lines is the same as a new one.
        accounts = accounts.filter { $0.value.leftOut > 0 || $0.value.paidUntil > now }
        return accounts.count < limitKinds ? kind : .others
    }
}
