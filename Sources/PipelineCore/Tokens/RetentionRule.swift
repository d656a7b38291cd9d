/// The rule for forgetting old tokens.
public struct RetentionRule: Equatable, Sendable {
    /// The reason for sweeping a token.
    public enum Verdict: String, CaseIterable, Sendable {
        /// The token died long ago.
        case tombstone
        /// The token's app has been silent for long.
        case idle
    }

    /// The time a dead token is remembered, seconds; 0: always.
    public var tombstoneSeconds: Int64
    /// The time a silent living token is remembered, seconds; 0: always.
    public var idleSeconds: Int64

    public init(tombstoneSeconds: Int64, idleSeconds: Int64) {
        self.tombstoneSeconds = tombstoneSeconds
        self.idleSeconds = idleSeconds
    }

    /// Some tokens are swept at all.
    public var isOn: Bool { tombstoneSeconds > 0 || idleSeconds > 0 }

    /// The reason to sweep a token. Nil: the token stays. A dead one is never idle: forgotten too soon it would be sent
    /// to again. One that never registered has no age.
    ///
    /// - Parameters:
    ///   - registeredAt: UNIX seconds; 0: never. The same for the others.
    ///   - now: UNIX seconds.
    public func verdict(registeredAt: UInt32, describedAt: UInt32, tombstonedAt: UInt32, now: Int64) -> Verdict? {
        if tombstonedAt > registeredAt {
            return tombstoneSeconds > 0 && Int64(tombstonedAt) + tombstoneSeconds < now ? .tombstone : nil
        }
        let heardOf = Int64(max(registeredAt, describedAt))
        return idleSeconds > 0 && heardOf > 0 && heardOf + idleSeconds < now ? .idle : nil
    }
}
