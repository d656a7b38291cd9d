import APNsProtocol

/// The fates of one topic's notifications, counted since the start.
///
/// Every accepted one has exactly one fate: `accepted` = `delivered` + `stored` + `coalesced` + `expired` +
/// `feedback` + `evicted`.
struct SandboxTopicCounters: Sendable, Equatable {
    /// Taken by the gateway, whatever happened then.
    var accepted = 0
    /// Followed a refused one, or a fault, on its connection.
    var discarded = 0
    /// Reached a device, whether it could make sense of them or not.
    var delivered = 0
    /// Of the delivered: dropped by the device, which could not parse them [talk].
    var invalidJSON = 0
    /// Waiting for their device now; not a sum over time.
    var stored = 0
    /// Of the stored: waiting for a power-saving time, not for their device [13].
    var held = 0
    /// Replaced by a newer one while waiting [13].
    var coalesced = 0
    /// Discarded without feedback: out of date, or not to be stored [13]; or their device was removed, or given another
    /// token, while they waited [ours].
    var expired = 0
    /// Lost their place in the store, which was full.
    var evicted = 0
    /// Found their app missing.
    var feedback = 0

    /// Requests of the provider API that were answered with an error.
    private(set) var requestRefusals = RequestRefusals()

    private var refusals = [Int](repeating: 0, count: 256)

    /// Counts a notification that was answered with a status, or would have been if it had not been of command 0.
    mutating func countRefusal(_ status: APNsStatus) {
        refusals[Int(status.rawValue)] += 1
    }

    /// Counts a request that was answered with an error.
    mutating func countRefusal(_ refusal: RequestRefusal) {
        requestRefusals.count(refusal)
    }

    /// Refused notifications of the binary interface by status; only those that occurred.
    var rejected: [(status: APNsStatus, count: Int)] {
        refusals.indices.compactMap { index in
            refusals[index] > 0 ? (APNsStatus(rawValue: UInt8(index)), refusals[index]) : nil
        }
    }
}
