import APNsProtocol

/// What became of one topic's notifications, since the start.
///
/// Every accepted one has exactly one fate: `accepted` = `delivered` + `stored` + `coalesced` + `expired` + `feedback`.
struct TopicCounters: Sendable, Equatable {
    /// Taken by the gateway, whatever happened then.
    var accepted = 0
    /// Followed a refused one, or a fault, on its connection.
    var discarded = 0
    /// Reached a device.
    var delivered = 0
    /// Waiting for their device now; not a sum over time.
    var stored = 0
    /// Replaced by a newer one while waiting [13].
    var coalesced = 0
    /// Out of date when they came or when their device returned, or not to be stored [13].
    var expired = 0
    /// Found their app missing.
    var feedback = 0

    private var refusals = [Int](repeating: 0, count: 256)

    /// Counts a notification that was answered with a status, or would have been if it had not been of command 0.
    mutating func countRefusal(_ status: APNsStatus) {
        refusals[Int(status.rawValue)] += 1
    }

    /// The refused ones by status; only those that occurred.
    var rejected: [(status: APNsStatus, count: Int)] {
        refusals.indices.compactMap { index in
            refusals[index] > 0 ? (APNsStatus(rawValue: UInt8(index)), refusals[index]) : nil
        }
    }

    static func == (left: TopicCounters, right: TopicCounters) -> Bool {
        left.accepted == right.accepted && left.discarded == right.discarded && left.delivered == right.delivered
            && left.stored == right.stored && left.coalesced == right.coalesced && left.expired == right.expired
            && left.feedback == right.feedback && left.refusals == right.refusals
    }
}
