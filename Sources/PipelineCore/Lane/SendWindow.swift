/// The number of notifications out at once that the gateway may still refuse.
///
/// A refusal costs everything sent after it: with many bad tokens a connection that sends as fast as it can sends most
/// notifications many times. The window shrinks by half when a refusal cost resends, and grows by ``gain`` for each
/// notification that went through; so it settles at about 2 × `gain` times the mean number of notifications between two
/// refusals. Then a stretch without refusal rarely (e^−8) fills it, and the waste of a refusal stays in proportion.
/// [ours]
///
/// Notifications silent for twice the usual time of an answer no longer count, though only the whole window of silence
/// settles them: otherwise one bad token would slow a clean stream down for that long.
public struct SendWindow: Equatable, Sendable {
    /// The smallest size of a lane's window.
    public static let smallest = 64
    /// Additive increase for each notification that went through.
    public static let gain = 4
    /// Shorter answer times cannot be measured: the clock is looked at every 20 ms.
    static let shortestDelay = Duration.milliseconds(40)

    /// The largest size of the window; 1 or more.
    public let largest: Int
    /// The longest expected time of an answer.
    public let longestDelay: Duration

    /// The smallest size of this window.
    var smallest = Self.smallest
    /// Notifications that may be out now.
    public private(set) var size: Int
    /// The silence after which a notification no longer counts. Twice the time of the slowest answers lately; shrinks
    /// by an eighth from answer to answer.
    public private(set) var quietDelay: Duration
    private var hasSample = false

    public init(largest: Int, longestDelay: Duration) {
        precondition(largest >= 1 && longestDelay > .zero)
        self.largest = largest
        self.longestDelay = longestDelay
        size = largest
        quietDelay = longestDelay
    }

    /// This many notifications went through: confirmed, or silent for ``quietDelay``.
    public mutating func passed(_ count: Int) {
        guard size < largest else { return }
        let (more, overflow) = count.multipliedReportingOverflow(by: Self.gain)
        size = overflow || more > largest - size ? largest : size + more
    }

    /// A refusal cost resends while this many notifications were out.
    public mutating func refused(outstanding: Int) {
        size = min(largest, max(smallest, min(size, outstanding) / 2))
    }

    /// An answer came after this time since the writing of the notification it names.
    public mutating func answered(after delay: Duration) {
        let measured = max(Self.shortestDelay, delay * 2)
        let aged = quietDelay - quietDelay / 8
        quietDelay = min(longestDelay, hasSample ? max(measured, aged) : measured)
        hasSample = true
    }
}
