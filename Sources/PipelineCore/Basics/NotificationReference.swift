/// Identifies the notification of a consumed record that an in-flight frame belongs to.
///
/// Twelve bytes instead of (topic, partition, offset, token index): it is kept per notification in flight.
public struct NotificationReference: Hashable, Sendable {
    /// Number of the partition's assignment in this shard. Never reused, so that leftovers of a former assignment
    /// cannot be mistaken for those of the next.
    public var assignment: UInt32
    /// Consecutive number of the record within the assignment, as ``CommitFrontier/append(offset:tokens:alreadyDone:)``
    /// gave it.
    public var record: UInt32
    /// Position of the token within the record, from 0.
    public var token: UInt32

    @inlinable
    public init(assignment: UInt32, record: UInt32, token: UInt32) {
        self.assignment = assignment
        self.record = record
        self.token = token
    }
}
