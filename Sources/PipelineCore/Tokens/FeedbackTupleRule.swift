/// The rule for feedback tuples that must not be applied to the token state.
public enum FeedbackTupleRule {
    /// The reason for a refusal, as in the dead letter.
    public enum Refusal: String, Hashable, Sendable, CaseIterable {
        /// No token has this length.
        case tokenLength = "feedback-token-length"
        /// The tuple would keep the token dead through later registrations.
        case timestampInFuture = "feedback-timestamp-in-future"
        /// The timestamp lies before the feedback service existed: 0, or a corrupt field.
        case timestampAbsurd = "feedback-timestamp-absurd"
    }

    /// The day the service was opened, 2009-06-17, UNIX seconds.
    public static let firstTimestamp: UInt32 = 1_245_196_800
    /// Lengths of tokens: 32 [13], up to 100 [later].
    public static let tokenBytes = 32...100

    /// - Parameters:
    ///   - tokenLimitBytes: the environment's longest token; nil: unknown here.
    ///   - timestamp: the tuple's, UNIX seconds.
    ///   - harvestedAt: the time of reading, UNIX seconds.
    /// - Returns: nil: the tuple may be applied.
    public static func judge(
        tokenBytes: Int,
        tokenLimitBytes: Int?,
        timestamp: UInt32,
        harvestedAt: Int64
    ) -> Refusal? {
        let limit = tokenLimitBytes ?? Self.tokenBytes.upperBound
        guard tokenBytes >= Self.tokenBytes.lowerBound, tokenBytes <= limit else { return .tokenLength }
        guard timestamp >= firstTimestamp else { return .timestampAbsurd }
        guard !ForeignClock.isTooFarAhead(timestamp, of: harvestedAt) else { return .timestampInFuture }
        return nil
    }
}
