/// A queue's data about one notification.
///
/// An entry has links for three lists: the line in which it stands (in the order of sending), and the chains of its
/// token and of its assignment (in the order of arrival). Links are slots; ``none``: there is no other.
struct StreamEntry {
    /// The state of a notification.
    ///
    ///     waiting ──▶ inFlight ──▶ settled ──▶ free
    ///        │         ▲  │
    ///        ▼         │  ├─▶ again, suspect ─┐
    ///     passedOver   │  └─▶ asleep ─────────┤
    ///        └─────────┴──────────────────────┘
    ///
    /// Each but `settled` can become `free` when its partition goes, or another stage takes it.
    enum State: UInt8 {
        /// Holds no notification.
        case free
        /// Stands in the line of those never sent.
        case waiting
        /// Was due while an older notification of its token was in flight; in no line.
        case passedOver
        /// Stands in the line of resends, which go before notifications that were never sent.
        case again
        /// Stands in the line of suspects, each of which is sent alone.
        case suspect
        /// Waits for its next attempt; in no line.
        case asleep
        case inFlight
        /// Has its outcome, and can be read; in no list.
        case settled
    }

    /// The future of a notification in flight.
    enum Leave: UInt8, Comparable {
        case goesAgain
        /// Its partition is being given back: an outcome counts, but it does not go again.
        case staysHere
        /// Its partition is gone: no outcome.
        case isForgotten

        static func < (left: Leave, right: Leave) -> Bool { left.rawValue < right.rawValue }
    }

    static let none: Int32 = -1

    var reference: NotificationReference
    /// CRC-32 of the token.
    var checksum: UInt32
    var content: UInt32

    /// The connection and its stream, while in flight.
    var connection: UInt32 = 0
    var stream: Int32 = 0

    /// Neighbours in the line; in a free entry `next` is the next free one.
    var previous = Self.none
    var next = Self.none
    /// Neighbours in the token's chain.
    var older = Self.none
    var newer = Self.none
    /// Neighbours in the assignment's chain.
    var earlier = Self.none
    var later = Self.none
    /// The last of the token's chain; valid in the first.
    var newest = Self.none
    /// The next first one of a chain in the same bucket.
    var bucketNext = Self.none

    /// Number of the latest sending; 0: never sent.
    var sending: UInt64 = 0
    /// In flight and settled: the time of sending. Asleep: the time of waking.
    var time = MonotonicTime(nanoseconds: 0)
    /// The time of the first answer that asked for a later attempt.
    var retriedSince: MonotonicTime?
    var state = State.free
    var leave = Leave.goesAgain
    var tokenBytes: UInt8
    /// Answers that asked for a later attempt.
    var refusals: UInt8 = 0
    /// Ends of connections and streams for which it is to blame alone.
    var loneCloses: UInt8 = 0
    /// Silent ends of connections, in a row, while it was in flight among others.
    var closes: UInt8 = 0
    /// An answer asked for a new connection because of the provider token.
    var hasReconnected = false

    /// The oldest of its token.
    var isFirst: Bool { older == Self.none }

    /// Not with a connection, and without an outcome.
    var isWaiting: Bool {
        switch state {
        case .waiting, .passedOver, .again, .suspect, .asleep: true
        case .free, .inFlight, .settled: false
        }
    }

    /// May have ended connections, in which others were in flight as well.
    var isSuspected: Bool { closes >= StreamSuspicion.closes }
}

/// The ends of a list of entries, linked by `previous` and `next`.
struct SlotList {
    var head = StreamEntry.none
    var tail = StreamEntry.none

    var isEmpty: Bool { head == StreamEntry.none }

    /// The first slot.
    var first: Int? { isEmpty ? nil : Int(head) }
}
