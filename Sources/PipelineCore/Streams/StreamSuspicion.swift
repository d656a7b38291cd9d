/// Isolates the notifications that may be the reason why connections end silently.
///
/// A notification that ends every connection is in flight among many others each time. Those that were in flight at
/// several such ends in a row are suspects: they go apart from all others, in groups, and a group that ends its
/// connection is halved. So the culprit gets alone; an answer acquits any other, and makes the groups grow. [ours]
///
/// Topics of a team share connections, and a topic with one culprit mostly has more: each would end the connection of
/// all others twice before it is a suspect. So the topics with requests on a shared connection that ended silently have
/// connections of their own for a while, if they were few; and one whose suspects have ended a connection on which
/// nothing else was, for longer.
struct StreamSuspicion {
    /// Silent ends in a row that make a suspect.
    static let closes: UInt8 = 2

    /// Most topics that go apart after one silent end: each needs a connection, out of the process's budget. [ours]
    static let mostSecluded = 8

    /// The time for which a topic stays apart after a silent end of a connection that it shared. [ours]
    static let seclusion = Duration.seconds(60)

    /// The time for which a topic stays apart after its suspects have ended a connection. [ours]
    static let quarantine = Duration.seconds(600)

    /// The topic stays apart until then.
    private(set) var apartUntil = MonotonicTime(nanoseconds: 0)
    /// Suspects with connections.
    var inFlight = 0
    /// Most suspects in flight together.
    private(set) var groupSize = 1

    /// A connection ended silently with so many suspects in flight, 1 or more.
    mutating func ended(suspects: Int) {
        groupSize = max(1, suspects / 2)
    }

    /// A connection that the topic shared ended silently, with requests of it and of few others.
    mutating func seclude(now: MonotonicTime) {
        apartUntil = max(apartUntil, now + Self.seclusion)
    }

    /// Suspects have ended a connection on which nothing else was.
    mutating func convict(now: MonotonicTime) {
        apartUntil = max(apartUntil, now + Self.quarantine)
    }

    /// A suspect was answered.
    mutating func acquitted() {
        groupSize += 1
    }
}
