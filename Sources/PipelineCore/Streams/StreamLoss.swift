/// The end of a connection, for the queues that had requests on it.
public struct StreamLoss: Equatable, Sendable {
    /// The connection's number.
    public var connection: UInt32
    public var openedAt: MonotonicTime
    public var endedAt: MonotonicTime
    /// The peer ended it without saying why, so one of the requests may be the reason.
    public var isSilent: Bool
    /// The peer refused our certificate, or speaks another protocol: it has read none of the requests.
    public var isUnread: Bool
    /// Requests that were in flight, of all queues.
    public var inFlight: Int
    /// Queues with requests in flight on a connection that several use; 0: one alone uses it.
    public var sharers: Int

    /// The queues with requests in flight are to have connections of their own for a while.
    var separates: Bool { isSilent && (1...StreamSuspicion.mostSecluded).contains(sharers) }

    public init(
        connection: UInt32,
        openedAt: MonotonicTime,
        endedAt: MonotonicTime,
        isSilent: Bool,
        isUnread: Bool,
        inFlight: Int,
        sharers: Int = 0
    ) {
        self.connection = connection
        self.openedAt = openedAt
        self.endedAt = endedAt
        self.isSilent = isSilent
        self.isUnread = isUnread
        self.inFlight = inFlight
        self.sharers = sharers
    }
}
