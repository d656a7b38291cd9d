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

/// What one pass of the intake took from Kafka, decoded and validated, on its way to the connections.
///
/// Owns the bytes its notifications point into: the consumed batch, views with storage of their own, and the arena of
/// stripped payloads. Belongs to one shard's thread.
final class PreparedBatch {
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
    /// Reason of death by index in `notifications`; empty while nobody is known to be dead.
    var deaths: [Int: TokenRecord.Reason] = [:]
    /// Indices in `notifications` of requests that arrived before.
    var repetitions: Set<Int> = []
    var lookup = Lookup.needed
    /// Since when the look-up is due; nil before that.
    var lookupDue: MonotonicTime?
    /// Goes on although the token state is not known.
    var isWithoutState = false
    /// One of the replies asked for was an error.
    var lookupFailed = false

    /// The lags of which it brings notifications back.
    var returning: [PartitionState] = []

    /// The stripped payloads, end to end.
    let payloads = PayloadArena()

    private let source: KafkaBatch
    private var views: [SendRequestView] = []

    init(source: KafkaBatch, number: UInt64) {
        self.source = source
        self.number = number
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

    /// Keeps a view that owns memory which notifications point into.
    func keep(_ view: SendRequestView) {
        if view.ownsStorage { views.append(view) }
    }
}

/// Bytes that are written one after the other and read by offset; freed as a whole.
final class PayloadArena {
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var used = 0

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
