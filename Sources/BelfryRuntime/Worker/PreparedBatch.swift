import APNsProtocol
import KafkaClient
import PipelineCore
import PushSchemas

/// One notification of a prepared batch: everything the sending stage needs, without a reference to count.
struct PreparedNotification {
    var reference: NotificationReference
    /// Within the record's value or the view that the batch keeps alive.
    var token: UnsafeRawBufferPointer
    /// CRC-32 of the token.
    var checksum: UInt32
    /// Index of the ``TopicSender`` in its shard.
    var sender: Int32
    /// Place of the stripped payload in the batch's arena.
    var payloadOffset: Int
    var payloadBytes: UInt16
    var priority: NotificationPriority
    /// UNIX seconds; 0: do not store.
    var expiration: UInt32
}

/// A notification of a prepared batch that a newer one may take the place of.
struct Coalescible {
    /// In the batch's `notifications`.
    var index: Int
    /// Of token and coalescing key.
    var fingerprint: RequestFingerprint
    var stamp: Coalescer.Stamp
}

/// What one pass of the intake took from Kafka, decoded and validated, on its way to the connections.
///
/// Owns the bytes its notifications point into: the consumed batch, views with storage of their own, and the arena of
/// stripped payloads. Belongs to one shard's thread.
final class PreparedBatch {
    /// What of a batch only Redis can tell.
    struct Questions {
        /// Indices in `notifications` of those whose token may be dead.
        var tokens: [Int] = []
        /// Indices of those with a request id.
        var requests: [Int] = []

        var isEmpty: Bool { tokens.isEmpty && requests.isEmpty }
    }

    /// Where the batch's token state stands.
    enum Lookup {
        /// Not asked for, or asked for in vain: ask (again).
        case needed
        case asked(pendingReplies: Int)
        case known
    }

    /// From 1 in the order in which the shard's batches were taken in.
    let number: UInt64
    private(set) var notifications: [PreparedNotification] = []
    /// By index in `notifications`, while requests are remembered; nil for a request without id. Else empty.
    private(set) var fingerprints: [RequestFingerprint?] = []
    /// By `index`, ascending.
    var coalescibles: [Coalescible] = []
    /// Once anything is coalesced: the partitions taken in so far, and the offsets after their last records.
    var ends: [(partition: PartitionState, offset: Int64)] = []
    /// Reason of death by index in `notifications`; empty while nobody is known to be dead.
    var deaths: [Int: TokenRecord.Reason] = [:]
    /// Indices in `notifications` of requests that arrived before.
    var repetitions: Set<Int> = []
    var lookup = Lookup.needed
    /// Since when the look-up is due; nil before that.
    var lookupDue: MonotonicTime?
    /// Goes on although the token state is not known.
    var isWithoutState = false
    /// What was asked in vain; nil: nothing was asked yet.
    var unanswered: Questions?
    /// Not before that it is asked again; nil: at any time.
    var askAgainAt: MonotonicTime?

    /// The lags of which it brings notifications back.
    var returning: [PartitionState] = []

    /// The stripped payloads, end to end.
    let payloads: PayloadArena

    private let source: KafkaBatch
    private var views: [SendRequestView] = []

    init(source: KafkaBatch, number: UInt64) {
        self.source = source
        self.number = number
        // A small batch may be kept for long by one notification that waits to be coalesced.
        payloads = PayloadArena(bytes: min(64 * 1024, max(1, source.count) * 256))
        notifications.reserveCapacity(source.count)
    }

    func append(_ notification: PreparedNotification) {
        notifications.append(notification)
    }

    /// Appends a notification while requests are remembered.
    func append(_ notification: PreparedNotification, _ fingerprint: RequestFingerprint?) {
        notifications.append(notification)
        fingerprints.append(fingerprint)
    }

    /// What a notification is coalesced by, if it is.
    func coalescible(at index: Int) -> Coalescible? {
        let place = coalescibles.partitioningIndex { $0.index >= index }
        return place < coalescibles.count && coalescibles[place].index == index ? coalescibles[place] : nil
    }

    /// Keeps a view that owns memory which notifications point into.
    func keep(_ view: SendRequestView) {
        if view.ownsStorage { views.append(view) }
    }
}

/// Bytes that are written one after the other and read by offset; freed as a whole.
final class PayloadArena {
    private var memory: UnsafeMutableRawBufferPointer
    private var used = 0

    /// - Parameter bytes: room that it has at first; at least 1.
    init(bytes: Int = 64 * 1024) {
        memory = .allocate(byteCount: bytes, alignment: 16)
    }

    deinit {
        memory.deallocate()
    }

    /// Room for `bytes` at the end; valid until the next call.
    func reserve(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        if memory.count - used < bytes {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(memory.count * 2, used + bytes),
                alignment: 16
            )
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            memory.deallocate()
            memory = larger
        }
        return UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + bytes])
    }

    /// Keeps the first `bytes` of the room reserved last; returns their offset.
    func commit(_ bytes: Int) -> Int {
        defer { used += bytes }
        return used
    }

    /// Valid until the next ``reserve(_:)``.
    subscript(offset: Int, bytes: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[offset..<offset + bytes])
    }
}
