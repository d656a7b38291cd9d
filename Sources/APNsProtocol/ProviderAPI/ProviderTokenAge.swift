/// The service's rules for the age of provider tokens [later].
public enum ProviderTokenAge {
    /// The longest age that the service takes.
    public static let limitSeconds: Int64 = 3600
    /// The least time between two changes of a key's token, over all connections of a client [field].
    public static let updateIntervalSeconds: Int64 = 1200
    /// The most that a token may be ahead of the service's clock [ours].
    public static let aheadSeconds: Int64 = 60

    /// The token is refused with `ExpiredProviderToken`: too old, or from a time to come.
    ///
    /// - Parameter now: the service's clock, UNIX seconds.
    public static func isExpired(issuedAt: Int64, now: Int64) -> Bool {
        let (age, overflows) = now.subtractingReportingOverflow(issuedAt)
        return overflows || age > limitSeconds || age < -aheadSeconds
    }
}
