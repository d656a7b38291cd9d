import PipelineCore

/// Identifies a change of a token's badge, and the owner that makes it.
package struct BadgeMark: Hashable, Sendable {
    /// The same whenever the change is made again.
    package var fingerprint: RequestFingerprint
    /// The time from which the caller has had the partition of the notification, UNIX milliseconds; not negative. A
    /// caller with an earlier time than another one's is a former owner, whose words do not count any more.
    package var claimedAt: Int64

    package init(_ fingerprint: RequestFingerprint, claimedAt: Int64) {
        self.fingerprint = fingerprint
        self.claimedAt = max(0, claimedAt)
    }
}
