import RequestLanes

/// Decides which lane takes a grant that several lanes wait for: the most urgent one, unless another is due.
///
/// A lane is due when it was passed over ``mostPassedOver`` times since its last grant. Of two that are due the less
/// urgent goes first. So each lane that waits gets at least every tenth grant, and the most urgent one that waits is
/// passed over by two grants in a row at most. Only grants that a lane could have had count for it: it may wait for a
/// purpose that is not free. The count stays while the lane does not wait; that gains it one grant at most.
struct LaneTurns: Sendable {
    /// The lane gets the ninth grant, or the tenth, if another lane is due at the same time.
    static let mostPassedOver = 8

    /// Grants since a lane's last one that it could have had and that went to others.
    private var passedOver: [RequestLane: Int] = [:]

    /// The lane that takes the next grant.
    ///
    /// - Parameter waiting: the lanes that wait for a grant that is free.
    /// - Returns: nil if there is none.
    func next(among waiting: some Collection<RequestLane>) -> RequestLane? {
        waiting.filter { passedOver[$0, default: 0] >= Self.mostPassedOver }.max() ?? waiting.min()
    }

    /// A lane of those that waited took the grant.
    mutating func granted(_ lane: RequestLane, among waiting: some Collection<RequestLane>) {
        for other in waiting { passedOver[other, default: 0] += 1 }
        passedOver[lane] = 0
    }
}
