/// Which feedback tuples must not be applied to the token state.
public enum FeedbackTupleRule {
    /// Why not: the reason of a dead letter.
    public enum Refusal: String, Hashable, Sendable, CaseIterable {
        /// No token has this length.
        case tokenLength = "feedback-token-length"
        /// It would keep the token dead through registrations to come.
        case timestampInFuture = "feedback-timestamp-in-future"
        /// There was no feedback service then: 0, or a field that went wrong.
        case timestampAbsurd = "feedback-timestamp-absurd"
    }

    /// The day the service was opened, 2009-06-17, UNIX seconds.
    public static let firstTimestamp: UInt32 = 1_245_196_800
    /// Lengths of tokens: 32 [13], up to 100 [later].
    public static let tokenBytes = 32...100

    /// - Parameters:
    ///   - tokenLimitBytes: the environment's longest token; nil: it is not known here.
    ///   - timestamp: the tuple's, UNIX seconds.
    ///   - harvestedAt: when it was read, UNIX seconds.
    /// - Returns: nil: it may be applied.
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
