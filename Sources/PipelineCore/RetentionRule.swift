/// Which tokens are old enough to be forgotten.
public struct RetentionRule: Equatable, Sendable {
    /// Why a token is swept.
    public enum Verdict: String, CaseIterable, Sendable {
        /// It died long ago.
        case tombstone
        /// Its app has not been heard of for long.
        case idle
    }

    /// How long a dead token is remembered, seconds; 0: always.
    public var tombstoneSeconds: Int64
    /// How long a living token is remembered of which nothing is heard, seconds; 0: always.
    public var idleSeconds: Int64

    public init(tombstoneSeconds: Int64, idleSeconds: Int64) {
        self.tombstoneSeconds = tombstoneSeconds
        self.idleSeconds = idleSeconds
    }

    /// Whether anything is ever swept.
    public var isOn: Bool { tombstoneSeconds > 0 || idleSeconds > 0 }

    /// Nil: the token stays. A dead one is never idle: forgotten too soon it would be sent to again. One that never registered
    /// has no age.
    ///
    /// - Parameters:
    ///   - registeredAt: UNIX seconds; 0: never. So are the others.
    ///   - now: UNIX seconds.
    public func verdict(registeredAt: UInt32, describedAt: UInt32, tombstonedAt: UInt32, now: Int64) -> Verdict? {
        if tombstonedAt > registeredAt {
            return tombstoneSeconds > 0 && Int64(tombstonedAt) + tombstoneSeconds < now ? .tombstone : nil
        }
        let heardOf = Int64(max(registeredAt, describedAt))
        return idleSeconds > 0 && heardOf > 0 && heardOf + idleSeconds < now ? .idle : nil
    }
}
