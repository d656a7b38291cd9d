import APNsProtocol
import KafkaClient
import PipelineCore
import PushSchemas
import RequestRules
import TokenState

/// A payload in the arena of its batch, stripped and judged.
struct PreparedPayload {
    var offset: Int
    var bytes: Int
    var terms: DeliveryTerms
}

/// The part of a request that all its notifications share, as a row of a ``PreparedBatch``.
struct PreparedRecord {
    let feed: AppFeed
    let topic: Topic
    /// Number of the record in its feed.
    var number: UInt32
    /// See ``NotificationContent/expiration``.
    var expiration: UInt32?
    /// That of all notifications, unless the record has several.
    var payload: PreparedPayload
    /// The record's notifications in the columns of the batch.
    var notifications: Range<Int>
    /// The key for remembering the request; nil: this request is not remembered.
    var requestKey: SipHash?
    /// The coalescing key, and the stamp that tells its age; nil: the request is not coalesced.
    var coalescing: (key: SipHash, stamp: Coalescer.Stamp)?
    /// The values of `apns-id`, of a broadcast `apns-request-id`: each follows from token and index, so that a
    /// notification sent again keeps its own. Nil over the binary interface.
    var ids: NotificationIDs?
    /// The payloads of a structured notification in several languages, or with values of tokens' own; nil: there is
    /// only one.
    var rendered: RenderedPayloads?
    /// Some of the notifications may change the numbers of their tokens.
    var changesBadges = false
    /// An operator has discarded it: no notification of it is sent.
    var isDiscarded = false

    /// The only notification is for a channel, whose id stands in place of its token.
    var isBroadcast: Bool { payload.terms.isBroadcast }

    /// The kind of topic for which a token may be dead.
    var kind: TopicKind { payload.terms.topicKind }
}

/// Requests that one pass of the intake took from Kafka, decoded and validated, on their way to the connections.
///
/// Rows are records, columns are their notifications. The batch owns the bytes that the tokens point into: the consumed
/// batch, views with storage of their own, and the arena of stripped payloads. Bound to the shard's event loop.
final class PreparedBatch {
    /// The decision about a notification.
    enum Verdict: UInt8 {
        case sends
        /// The same request has arrived at the token before.
        case isRepetition
        case isDeadByFeedback
        case isDeadAsInvalid
        case isDeadAsUnregistered

        init(_ reason: TokenRecord.Reason) {
            switch reason {
            case .none: self = .sends
            case .feedback: self = .isDeadByFeedback
            case .invalid: self = .isDeadAsInvalid
            case .unregistered: self = .isDeadAsUnregistered
            }
        }

        /// Nil: the token lives.
        var reasonOfDeath: TokenRecord.Reason? {
            switch self {
            case .sends, .isRepetition: nil
            case .isDeadByFeedback: .feedback
            case .isDeadAsInvalid: .invalid
            case .isDeadAsUnregistered: .unregistered
            }
        }
    }

    /// Number of the batch in the shard, from 1 in the order of arrival.
    let number: UInt64
    /// Number of the oldest batch whose look-up was open when this one, or a part of it, went on.
    var oldest: UInt64
    private(set) var records: [PreparedRecord] = []

    // MARK: Columns, by notification

    /// Tokens, and channels of broadcasts, within the batch's memory.
    private(set) var tokens: [UnsafeRawBufferPointer] = []
    /// CRC-32 of each token.
    private(set) var checksums: [UInt32] = []
    /// Position of each token in its record.
    private(set) var positions: [UInt32] = []
    /// Index of each notification's record.
    private(set) var rows: [Int32] = []
    var verdicts: [Verdict] = []

    /// The stripped payloads, end to end.
    let payloads: PayloadArena
    /// The position of each partition's live reader, once anything is coalesced.
    var ends: [(partition: PartitionAssignment, offset: Int64)] = []
    /// The batch goes on although the token state is not known.
    var isWithoutState = false
    /// Some notifications are for channels, about which the token state knows nothing.
    private(set) var hasBroadcasts = false
    /// The language of some devices decides about their payload.
    private(set) var hasLanguages = false
    /// Some notifications may change the numbers of their tokens.
    private(set) var hasBadges = false

    private let source: KafkaBatch
    private var views: [SendRequestView] = []

    init(source: KafkaBatch, number: UInt64) {
        self.source = source
        self.number = number
        oldest = number
        payloads = PayloadArena(bytes: min(64 * 1024, max(1, source.count) * 256))
        // For records of one token each; what grows beyond is shared by many tokens.
        records.reserveCapacity(source.count)
        reserveColumns(source.count)
    }

    /// Notifications.
    var count: Int { tokens.count }
    var isEmpty: Bool { tokens.isEmpty }

    /// Keeps a view that owns memory which tokens point into.
    func keep(_ view: SendRequestView) { views.append(view) }

    /// Appends a record; its notifications follow.
    ///
    /// - Parameter tokens: most notifications that follow.
    func append(_ record: PreparedRecord, tokens: Int) {
        records.append(record)
        makeRoom(tokens)
        if record.isBroadcast { hasBroadcasts = true }
        if record.rendered?.asksForLanguages == true { hasLanguages = true }
        if record.changesBadges { hasBadges = true }
    }

    /// Makes room for the notifications of a record, and for records like it up to a whole batch.
    private func makeRoom(_ tokens: Int) {
        guard count + tokens > self.tokens.capacity else { return }
        let whole = min(source.count * tokens, ShardLimits.notificationsPerBatch)
        reserveColumns(max(whole, self.tokens.capacity) + tokens)
    }

    private func reserveColumns(_ notifications: Int) {
        tokens.reserveCapacity(notifications)
        checksums.reserveCapacity(notifications)
        positions.reserveCapacity(notifications)
        rows.reserveCapacity(notifications)
        verdicts.reserveCapacity(notifications)
    }

    /// Appends a notification of the last record.
    @inline(__always)
    func append(token: UnsafeRawBufferPointer, checksum: UInt32, position: UInt32) {
        tokens.append(token)
        checksums.append(checksum)
        positions.append(position)
        rows.append(Int32(truncatingIfNeeded: records.count - 1))
        verdicts.append(.sends)
    }

    /// Closes the last record; one without notifications is forgotten.
    func closeRecord() {
        let row = records.count - 1
        guard records[row].notifications.lowerBound < count else {
            records.removeLast()
            return
        }
        records[row].notifications = records[row].notifications.lowerBound..<count
    }

    func reference(of index: Int, in record: PreparedRecord) -> NotificationReference {
        NotificationReference(assignment: record.feed.number, record: record.number, token: positions[index])
    }

    /// The content of a record's notification.
    func content(of index: Int, in record: PreparedRecord) -> NotificationContent {
        let payload = record.rendered?.payload(of: index - record.notifications.lowerBound) ?? record.payload
        return NotificationContent(
            payload: payloads[payload.offset, payload.bytes],
            terms: payload.terms,
            expiration: record.expiration,
            ids: record.ids
        )
    }

    /// Notifications whose language is to be looked up.
    func notificationsWantingLanguage(in record: PreparedRecord) -> [Int] {
        guard let rendered = record.rendered, rendered.asksForLanguages else { return [] }
        return record.notifications.filter { rendered.wantsLanguage($0 - record.notifications.lowerBound) }
    }

    /// Notifications that change the numbers of their tokens when they are looked up. One with a coalescing key does so
    /// when it is sent.
    func notificationsChangingBadges(in record: PreparedRecord) -> [Int] {
        guard record.changesBadges, record.coalescing == nil else { return [] }
        return record.notifications.filter { badgeChange(of: $0, in: record) != nil }
    }

    func badgeChange(of index: Int, in record: PreparedRecord) -> BadgeChange? {
        record.rendered?.badgeChange(of: index - record.notifications.lowerBound)
    }

    /// The maker of a notification's payload, for when its token's number is known; nil: it has its payload.
    func latePayload(of index: Int, in record: PreparedRecord) -> LatePayload? {
        guard record.changesBadges else { return nil }
        return record.rendered?.latePayload(of: index - record.notifications.lowerBound)
    }

    /// Gives a notification the number that its token has now.
    func foundBadge(_ number: UInt32, of index: Int) {
        let record = records[Int(rows[index])]
        record.rendered?.foundBadge(number, of: index - record.notifications.lowerBound)
    }

    /// Notes what the token state says of the language of a notification's device.
    ///
    /// - Parameter locale: BCP 47 tag; nil: not known.
    func foundLanguage(_ locale: UnsafeRawBufferPointer?, of index: Int) {
        let row = Int(rows[index])
        records[row].rendered?.foundLanguage(locale, of: index - records[row].notifications.lowerBound)
    }
}
