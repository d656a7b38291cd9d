/// What happens to notifications whose fate nobody can tell (`unknown-fate`).
public enum UnknownFatePolicy: String, Equatable, Sendable, CaseIterable {
    /// Send them again: at least once.
    case resend
    /// Take them for accepted: at most once.
    case presume
    /// Give them the outcome `unknown` and go on.
    case giveUp = "give-up"
}

/// The settings a lane decides by.
public struct LaneLimits: Equatable, Sendable {
    /// How long the gateway must stay silent, counted from the flush here, before a notification is presumed accepted.
    /// The answer arrives 100–800 ms after the offending bytes ([field]).
    public var confirmationWindow: Duration
    public var unknownFate: UnknownFatePolicy
    /// Most notifications handed to a connection and not settled.
    public var inFlight: Int
    /// Most bytes kept of presumed notifications for an answer that comes late.
    public var retainedBytes: Int
    /// The wait after failures of a connection.
    public var backoff: Backoff
    /// The wait before a parked lane tries its topic again.
    public var parkedBackoff: Backoff
    /// How often a notification that met a processing error (status 1) is sent in all.
    public var processingAttempts: Int

    public init(
        confirmationWindow: Duration = .seconds(2),
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 262_144,
        retainedBytes: Int = 1 << 20,
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        parkedBackoff: Backoff = Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10)),
        processingAttempts: Int = 5
    ) {
        precondition(confirmationWindow > .zero && inFlight >= 1 && retainedBytes >= 0 && processingAttempts >= 1)
        self.confirmationWindow = confirmationWindow
        self.unknownFate = unknownFate
        self.inFlight = inFlight
        self.retainedBytes = retainedBytes
        self.backoff = backoff
        self.parkedBackoff = parkedBackoff
        self.processingAttempts = processingAttempts
    }
}
