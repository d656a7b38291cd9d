import NIOCore

/// The rule for a command that nodes of a cluster refuse to run: when it is sent on, how long it waits, when it fails.
///
/// Only the command's deadline ends it. While a slot moves to another master, a command whose keys are not all on one
/// side is refused (ASK, then TRYAGAIN) until the slot has moved, and how long that takes is not known. Redirections
/// are followed at once, but only a few in a row: nodes that do not agree yet send a command round in a circle.
///
/// One per command. Pure: time and chance are arguments.
///
/// Source: Redis Cluster specification, "Redirection and resharding", "Multi keys operations".
struct ClusterPatience: Equatable {
    /// The first wait, without its random part.
    static let firstWait = TimeAmount.milliseconds(10)
    /// Doublings of the wait: up to 640 ms.
    static let doublings = 6

    /// Nothing is sent again after this time, and no wait ends later; nil: never.
    let deadline: NIODeadline?
    /// Redirections followed since the last wait.
    private(set) var redirections = 0
    /// Waits so far.
    private(set) var waits = 0

    init(deadline: NIODeadline?) {
        self.deadline = deadline
    }

    /// The command must not be sent any more.
    func isOver(now: NIODeadline) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// A node named another one. Returns true if the command is to be sent there now; else it is to wait.
    ///
    /// - Parameter limit: most redirections in a row.
    mutating func follows(limit: Int, now: NIODeadline) -> Bool {
        guard redirections < limit, !isOver(now: now) else { return false }
        redirections += 1
        return true
    }

    /// No node can run the command now. Returns the time at which the present master of its slot is to be asked again;
    /// nil: the deadline has passed, and the command fails.
    ///
    /// - Parameter random: any number, evenly distributed.
    mutating func nextTry(now: NIODeadline, random: UInt64) -> NIODeadline? {
        guard !isOver(now: now) else { return nil }
        redirections = 0
        waits += 1
        let end = now + Self.wait(number: waits, random: random)
        return deadline.map { min($0, end) } ?? end
    }

    /// The length of a wait: 10 ms doubling up to 640 ms, minus a random part of up to one half, so that many commands
    /// do not come back in step.
    ///
    /// - Parameter number: from 1 on.
    static func wait(number: Int, random: UInt64) -> TimeAmount {
        let half = (firstWait.nanoseconds << Int64(min(max(number - 1, 0), doublings))) / 2
        return .nanoseconds(half + Int64(random % UInt64(half + 1)))
    }
}
