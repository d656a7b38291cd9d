/// Notices when a gateway calls so many tokens invalid that the gateway, not the tokens, is to be doubted.
///
/// A wrong gateway (a wrong environment, a wrong token key behind it) must not wipe the user base: while the guard has
/// tripped, the topic is parked and no tombstone is written. It looks at the latest answers only, by halving its counts.
public struct InvalidTokenGuard: Equatable, Sendable {
    /// The share of invalid tokens among judged notifications above which it trips, 0 … 1.
    public let share: Double
    /// How many judged notifications it takes before the share is looked at.
    public let sample: Int

    private var accepted = 0
    private var invalid = 0

    public init(share: Double, sample: Int) {
        precondition((0...1).contains(share) && sample >= 1)
        self.share = share
        self.sample = sample
    }

    /// Too many tokens are called invalid.
    public var hasTripped: Bool {
        let judged = accepted + invalid
        return judged >= sample && Double(invalid) > share * Double(judged)
    }

    /// Notifications were accepted, proven or presumed.
    public mutating func noteAccepted(_ count: Int) {
        accepted += count
        forget()
    }

    /// A token was called invalid.
    public mutating func noteInvalid() {
        invalid += 1
        forget()
    }

    private mutating func forget() {
        while accepted + invalid >= 2 * sample {
            accepted /= 2
            invalid /= 2
        }
    }
}
