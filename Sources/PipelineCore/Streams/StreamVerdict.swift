import APNsProtocol

/// The result of one event for one notification of a ``StreamQueue``.
public struct StreamVerdict: Equatable, Sendable {
    public enum Result: Equatable, Sendable {
        /// Proven accepted.
        case confirmed
        /// Not answered; presumed accepted, by policy.
        case presumed
        /// Not answered; given up, by policy.
        case unknown
        /// Refused for good; the token is innocent. Also when attempts have gone on for long enough. Status and reason
        /// are those of the answer at hand.
        case rejected
        /// The token is dead since the answer's time.
        case tokenDead
        /// Refused for good, and the token with it, if the topic is trusted.
        case tokenRefused
        /// Refused for a defect of ours: a dead letter.
        case deadLetter
        /// To blame for the end of too many connections or streams: a dead letter.
        case poison
        /// Not accepted; goes again.
        case retried
        /// Not answered; goes again, and may reach its device twice.
        case resent
        /// Its partition is gone: it gets no outcome, and does not go again.
        case forgotten
    }

    /// A conclusion about more than the notification.
    public enum Finding: Equatable, Sendable {
        case none
        /// The service refuses the provider itself.
        case doesNotWork(ProviderVerdict.Extent)
        /// The service answers nothing but troubles of its own: the topic does not work.
        case serviceTrouble
    }

    /// The place of the notification; see ``isFinal``.
    public var slot: Int
    public var result: Result
    public var finding: Finding

    /// The notification has its outcome. It can be read at its slot until ``StreamQueue/release(_:)``, which must
    /// follow.
    public var isFinal: Bool {
        switch result {
        case .confirmed, .presumed, .unknown, .rejected, .tokenDead, .tokenRefused, .deadLetter, .poison: true
        case .retried, .resent, .forgotten: false
        }
    }
}
