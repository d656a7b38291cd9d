import APNsProtocol
import PipelineCore

/// A notification that waits for newer ones of its coalescing key, with bytes of its own: it may wait for long.
struct WaitingRequest {
    var reference: NotificationReference
    var topic: Topic
    var token: [UInt8]
    /// CRC-32 of the token.
    var checksum: UInt32
    var payload: [UInt8]
    /// UNIX seconds; 0: do not store.
    var expiration: UInt32
    var priority: NotificationPriority
    /// Of token and coalescing key.
    var fingerprint: RequestFingerprint
    var stamp: Coalescer.Stamp
    /// Number of its ``PreparedBatch``.
    var batch: UInt64
    var isWithoutState: Bool

    var subject: Coalescer.Subject { Coalescer.Subject(topic: topic.index, fingerprint: fingerprint) }
}

/// Requests of a shard that wait to be coalesced, by ticket.
struct WaitingRequests {
    private var waiting: [UInt64: WaitingRequest] = [:]
    private var tickets: UInt64 = 0
    /// In the order of arrival; some of them may wait no more.
    private var arrivals: [(ticket: UInt64, batch: UInt64)] = []
    /// Index of the first in `arrivals` that may wait.
    private var firstArrival = 0

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    /// The number of the oldest batch of which something waits.
    var oldestBatch: UInt64? { isEmpty ? nil : arrivals[firstArrival].batch }

    subscript(ticket: UInt64) -> WaitingRequest? { waiting[ticket] }

    /// A number for a request that arrives.
    mutating func nextTicket() -> UInt64 {
        tickets += 1
        return tickets
    }

    mutating func keep(_ ticket: UInt64, _ request: WaitingRequest) {
        waiting[ticket] = request
        arrivals.append((ticket, request.batch))
    }

    /// A request waits no more.
    mutating func take(_ ticket: UInt64) -> WaitingRequest? {
        defer { skipArrivals() }
        return waiting.removeValue(forKey: ticket)
    }

    /// Requests of a feed belong to nobody here any more.
    mutating func forget(feed: UInt32) {
        guard !isEmpty else { return }
        waiting = waiting.filter { $0.value.reference.assignment != feed }
        skipArrivals()
    }

    private mutating func skipArrivals() {
        while firstArrival < arrivals.count, waiting[arrivals[firstArrival].ticket] == nil { firstArrival += 1 }
        if firstArrival == arrivals.count {
            arrivals.removeAll(keepingCapacity: true)
            firstArrival = 0
        } else if firstArrival > 1024, firstArrival * 2 > arrivals.count {
            arrivals.removeFirst(firstArrival)
            firstArrival = 0
        }
    }
}
