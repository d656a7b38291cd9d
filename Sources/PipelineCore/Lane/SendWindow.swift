/// How many notifications a lane may have out that the gateway has had no time yet to refuse.
///
/// A refusal costs everything sent after it: with many bad tokens a connection that sends as fast as it can sends most
/// notifications many times. The window shrinks by half when a refusal cost resends, and grows by ``gain`` for each
/// notification that went through; so it settles at about 2 × `gain` times the mean number of notifications between two
/// refusals. Then a stretch without one rarely (e^−8) fills it, and what a refusal wastes stays in proportion. [ours]
///
/// What has been silent for twice the time that answers take here no longer counts, though only the whole window of
/// silence settles it: otherwise one bad token would slow a clean stream down for that long.
public struct SendWindow: Equatable, Sendable {
    /// Never fewer notifications than these.
    public static let smallest = 64
    /// Additive increase: notifications more for each that went through.
    public static let gain = 4
    /// Shorter answer times cannot be told apart: the clock is looked at every 20 ms.
    static let shortestDelay = Duration.milliseconds(40)

    /// Never more notifications than these; 1 or more.
    public let largest: Int
    /// No answer is expected to take longer.
    public let longestDelay: Duration

    /// Notifications that may be out now.
    public private(set) var size: Int
    /// After how much silence a notification no longer counts: twice the time of the slowest answers lately; it shrinks by
    /// an eighth from answer to answer.
    public private(set) var quietDelay: Duration
    private var hasSample = false

    public init(largest: Int, longestDelay: Duration) {
        precondition(largest >= 1 && longestDelay > .zero)
        self.largest = largest
        self.longestDelay = longestDelay
        size = largest
        quietDelay = longestDelay
    }

    /// So many notifications went through: confirmed, or silent for ``quietDelay``.
    public mutating func passed(_ count: Int) {
        guard size < largest else { return }
        let (more, overflow) = count.multipliedReportingOverflow(by: Self.gain)
        size = overflow || more > largest - size ? largest : size + more
    }

    /// A refusal cost resends while so many notifications were out.
    public mutating func refused(outstanding: Int) {
        size = min(largest, max(Self.smallest, min(size, outstanding) / 2))
    }

    /// What refusals came from goes elsewhere now.
    mutating func reopen() {
        size = largest
    }

    /// An answer came so long after the notification it names had been written.
    public mutating func answered(after delay: Duration) {
        let measured = max(Self.shortestDelay, delay * 2)
        let aged = quietDelay - quietDelay / 8
        quietDelay = min(longestDelay, hasSample ? max(measured, aged) : measured)
        hasSample = true
    }
}
