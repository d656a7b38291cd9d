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
    /// Keeps a request in one place: a table of the requests themselves would move them all as it grows.
    private final class Kept {
        let request: WaitingRequest

        init(_ request: WaitingRequest) { self.request = request }
    }

    private var waiting: [UInt64: Kept] = [:]
    /// Tickets of each feed: what leaves with it is found without a look at the others.
    private var byFeed: [UInt32: Set<UInt64>] = [:]
    /// Feeds whose requests have no outcome here any more, and the tickets of those.
    private var leavingFeeds: Set<UInt32> = []
    private var leaving: [UInt64] = []
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
        waiting[ticket] = Kept(request)
        byFeed[request.reference.assignment, default: []].insert(ticket)
        arrivals.append((ticket, request.batch))
    }

    /// Removes a request that no longer waits.
    mutating func takeRequest(_ ticket: UInt64) -> WaitingRequest? {
        defer { skipArrivals() }
        guard let request = waiting.removeValue(forKey: ticket)?.request else { return nil }
        let feed = request.reference.assignment
        byFeed[feed]?.remove(ticket)
        if byFeed[feed]?.isEmpty ?? false { byFeed[feed] = nil }
        return request
    }

    // MARK: Leaving

    /// The requests of a feed leave, though they wait until they are taken.
    mutating func leave(_ feed: UInt32) {
        guard let tickets = byFeed[feed], leavingFeeds.insert(feed).inserted else { return }
        leaving += tickets
    }

    var areLeaving: Bool { !leavingFeeds.isEmpty }

    func isLeaving(_ request: WaitingRequest) -> Bool {
        !leavingFeeds.isEmpty && leavingFeeds.contains(request.reference.assignment)
    }

    /// Takes tickets of requests that leave, in no order; some may not wait any more.
    mutating func takeLeaving(_ most: Int) -> [UInt64] {
        defer {
            leaving.removeLast(min(most, leaving.count))
            if leaving.isEmpty { leavingFeeds = [] }
        }
        return leaving.suffix(most)
    }

    private mutating func skipArrivals() {
        while firstArrival < arrivals.count, waiting[arrivals[firstArrival].ticket] == nil { firstArrival += 1 }
        if firstArrival == arrivals.count {
            arrivals.removeAll(keepingCapacity: true)
            firstArrival = 0
            // As many came since as it would take to grow again.
            if waiting.capacity > Self.keptCapacity { (waiting, arrivals) = ([:], []) }
        } else if firstArrival > 1024, firstArrival * 2 > arrivals.count {
            arrivals.removeFirst(firstArrival)
            firstArrival = 0
        }
    }
}
