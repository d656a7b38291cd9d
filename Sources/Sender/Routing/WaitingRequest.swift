import PipelineCore
import RequestRules

/// A notification that waits for newer ones of its coalescing key. It has bytes of its own, because it may wait for
/// long.
struct WaitingRequest {
    var reference: NotificationReference
    var topic: Topic
    /// Of a broadcast: the channel's id.
    var token: [UInt8]
    /// CRC-32 of the token.
    var checksum: UInt32
    var payload: [UInt8]
    var terms: DeliveryTerms
    /// See ``NotificationContent/expiration``.
    var expiration: UInt32?
    /// See ``PreparedRecord/ids``.
    var ids: NotificationIDs?
    /// Fingerprint of token and coalescing key.
    var fingerprint: RequestFingerprint
    var stamp: Coalescer.Stamp
    /// The oldest whose look-up was open when it came, see ``PreparedBatch/oldest``.
    var batch: UInt64
    var isWithoutState: Bool
    /// Changes the number of its token when it is due, and has the payload with that; nil: it does not.
    var badge: LatePayload?

    var subject: Coalescer.Subject { Coalescer.Subject(topic: topic.index, fingerprint: fingerprint) }
}

/// Requests of a shard that wait to be coalesced, by ticket.
struct WaitingRequests {
    /// A request in one place, because a table of the requests themselves would move them as it grows; and its place in
    /// the list of its feed's, so that what leaves with a feed is found without a look at the others.
    private final class Kept {
        let request: WaitingRequest
        /// Tickets of the feed's requests that came before and after it.
        var before: UInt64?
        var after: UInt64?

        init(_ request: WaitingRequest, after before: UInt64?) {
            self.request = request
            self.before = before
        }
    }

    private var waiting = PartedDictionary<UInt64, Kept>()
    /// The last ticket of each feed that has requests.
    private var lastOfFeed: [UInt32: UInt64] = [:]
    /// Feeds whose requests have no outcome here any more, though some still wait.
    private var leavingFeeds: Set<UInt32> = []
    private var tickets: UInt64 = 0
    /// Room for requests that is kept while none waits.
    private static let keptCapacity = 2048
    /// Tickets in the order of arrival; some may not wait any more.
    private var arrivals: [(ticket: UInt64, batch: UInt64)] = []
    /// Index of the first in `arrivals` that may still wait.
    private var firstArrival = 0

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    /// The number of the oldest batch with a waiting request.
    var oldestBatch: UInt64? { isEmpty ? nil : arrivals[firstArrival].batch }

    subscript(ticket: UInt64) -> WaitingRequest? { waiting[ticket]?.request }

    /// A number for a request that arrives.
    mutating func nextTicket() -> UInt64 {
        tickets += 1
        return tickets
    }

    mutating func keep(_ ticket: UInt64, _ request: WaitingRequest) {
        let feed = request.reference.assignment
        let last = lastOfFeed[feed]
        waiting[ticket] = Kept(request, after: last)
        if let last { waiting[last]?.after = ticket }
        lastOfFeed[feed] = ticket
        arrivals.append((ticket, request.batch))
    }

    /// Removes a request that no longer waits.
    mutating func takeRequest(_ ticket: UInt64) -> WaitingRequest? {
        defer { skipArrivals() }
        guard let kept = waiting.removeValue(forKey: ticket) else { return nil }
        if let before = kept.before { waiting[before]?.after = kept.after }
        if let after = kept.after {
            waiting[after]?.before = kept.before
        } else {
            lastOfFeed[kept.request.reference.assignment] = kept.before
        }
        return kept.request
    }

    // MARK: Leaving

    /// The requests of a feed leave, though they wait until they are taken.
    mutating func leave(_ feed: UInt32) {
        if lastOfFeed[feed] != nil { leavingFeeds.insert(feed) }
    }

    var areLeaving: Bool { !leavingFeeds.isEmpty }

    func isLeaving(_ request: WaitingRequest) -> Bool {
        !leavingFeeds.isEmpty && leavingFeeds.contains(request.reference.assignment)
    }

    /// Tickets of requests that leave, which the caller takes; the latest of a feed first.
    mutating func nextLeaving(_ most: Int) -> [UInt64] {
        var leaving: [UInt64] = []
        while leaving.count < most, let feed = leavingFeeds.min() {
            var next = lastOfFeed[feed]
            while leaving.count < most, let ticket = next {
                leaving.append(ticket)
                next = waiting[ticket]?.before
            }
            if next == nil { leavingFeeds.remove(feed) }
        }
        return leaving
    }

    private mutating func skipArrivals() {
        while firstArrival < arrivals.count, waiting[arrivals[firstArrival].ticket] == nil { firstArrival += 1 }
        if firstArrival == arrivals.count {
            // As many came since as it would take to grow again.
            arrivals.removeAll(keepingCapacity: arrivals.capacity <= Self.keptCapacity)
            firstArrival = 0
            waiting.shrinkIfEmpty(to: Self.keptCapacity)
        } else if firstArrival > 1024, firstArrival * 2 > arrivals.count {
            arrivals.removeFirst(firstArrival)
            firstArrival = 0
        }
    }
}
