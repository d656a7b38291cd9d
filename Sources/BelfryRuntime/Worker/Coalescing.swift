import PipelineCore

/// What waits in a shard for newer requests of its coalescing key, and the batches that keep it.
struct Coalescing {
    struct Waiting {
        var batch: PreparedBatch
        /// In the batch's `notifications`.
        var coalescible: Coalescible

        var notification: PreparedNotification { batch.notifications[coalescible.index] }
    }

    var machine = Coalescer(patience: ShardLimits.backlogPatience)
    /// A request with a coalescing key has come since the shard started.
    var isUsed = false
    /// Ticks of the shard.
    var ticks: UInt64 = 0
    /// Redis did not answer for a window, and the log says so.
    var isUnanswered = false
    private var waiting: [UInt64: Waiting] = [:]
    private var tickets: UInt64 = 0
    /// In the order of arrival; some of them may wait no more.
    private var arrivals: [(ticket: UInt64, batch: UInt64)] = []
    /// Index of the first in `arrivals` that may wait.
    private var firstArrival = 0

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    /// The number of the oldest batch of which something waits.
    var oldestBatch: UInt64? { isEmpty ? nil : arrivals[firstArrival].batch }

    subscript(ticket: UInt64) -> Waiting? { waiting[ticket] }

    /// Whether anything of a sender waits.
    func hasAny(ofTopic sender: Int32) -> Bool { waiting.values.contains { $0.notification.sender == sender } }

    /// A number for a request that arrives.
    mutating func nextTicket() -> UInt64 {
        tickets += 1
        return tickets
    }

    mutating func keep(_ ticket: UInt64, _ request: Waiting) {
        waiting[ticket] = request
        arrivals.append((ticket, request.batch.number))
    }

    /// A request waits no more.
    mutating func take(_ ticket: UInt64) -> Waiting? {
        defer { skipArrivals() }
        return waiting.removeValue(forKey: ticket)
    }

    /// What waits of an assignment belongs to nobody here any more.
    mutating func forget(assignment: UInt32) {
        guard !isEmpty else { return }
        machine.forget(assignment: assignment)
        waiting = waiting.filter { $0.value.notification.reference.assignment != assignment }
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
