import APNsProtocol
import PipelineCore
import PushSchemas
import RedisClient
import TokenState

/// Fourth stage: turns notifications that are due, alive and not coalesced into frames in the lanes of their tokens.
///
/// Bound to the shard's event loop.
final class Routing {
    let outcomes: Outcomes
    let gateway: Gateway
    private let unixMilliseconds: () -> Int64
    private let remembersRequests: Bool
    private let feeds: FeedTable
    /// Tokens that the gateway called invalid, while look-ups do not show it; by topic, and by kind of topic. Nil: for
    /// all kinds.
    private var refused: [Int32: [TopicKind?: RefusedTokens]] = [:]
    /// Requests sent and not yet remembered, while requests are remembered.
    private var requestsUnderWay = RequestsUnderWay()
    /// Notifications with an expiration that wait for a probe of their topic, by topic.
    private var probes: [Int32: [Probe]] = [:]
    let coalescing: Coalescing
    private let badges: DueBadges
    /// The batch that is being routed, if that takes more than one turn.
    private(set) var unfinished: BatchRoute?
    /// Work left for this turn, in notifications.
    private var workLeft = ShardLimits.routedPerTurn

    /// A notification that waits in a lane of a topic that does not work.
    private struct Probe {
        var reference: NotificationReference
        /// UNIX seconds.
        var expiration: UInt32
    }

    init(
        settings: ShardSettings,
        feeds: FeedTable,
        outcomes: Outcomes,
        gateway: Gateway,
        coalescing: Coalescing,
        badges: DueBadges
    ) {
        self.outcomes = outcomes
        self.gateway = gateway
        self.feeds = feeds
        self.coalescing = coalescing
        self.badges = badges
        unixMilliseconds = settings.unixMilliseconds
        remembersRequests = settings.dedupeWindow > .zero
    }

    // MARK: Batches

    /// Lets routing work anew: a turn of the event loop begins.
    func beginTurn() { workLeft = ShardLimits.routedPerTurn }

    /// The way through a batch of which a part was routed; nothing else is routed before its rest.
    func takeUnfinished() -> BatchRoute? { unfinished.take() }

    /// Sends notifications whose token state is known, or what is left of them.
    ///
    /// - Returns: false: the work for this turn is done before the notifications are.
    func route(_ next: BatchRoute) -> Bool {
        var route = next
        passed(upTo: route.batch.oldest - 1)
        while let record = route.record {
            // Since the batch was taken in, the partition may have left or be leaving, or the feed was replaced.
            if !record.feed.isOver, record.feed.partition.phase == .active {
                guard self.route(record, &route) else {
                    unfinished = route
                    return false
                }
            }
            route.endRecord()
        }
        return true
    }

    /// - Returns: false: the rest of the record is for another turn.
    private func route(_ record: PreparedRecord, _ route: inout BatchRoute) -> Bool {
        let (batch, notifications) = (route.batch, record.notifications)
        guard let rendered = record.rendered else {
            let most = Self.mostAtOnce(of: record, payloadBytes: record.payload.bytes)
            while route.done < notifications.count {
                guard workLeft > 0 else { return false }
                let part = notifications.dropFirst(route.done).prefix(most)
                route.done += part.count
                self.route(part, of: record, batch)
            }
            return true
        }
        guard findPortions(of: record, rendered, &route) else { return false }
        while let portion = route.portion {
            guard workLeft > 0 else { return false }
            if portion.isOwn { workLeft -= ShardLimits.workOfPayload }
            route.done += 1
            do throws(RecordRefusal) {
                try rendered.begin(portion, into: batch.payloads)
                self.route(portion.positions.lazy.map { notifications.lowerBound + $0 }, of: record, batch)
            } catch {
                route.faults += portion.positions.map { ($0, error) }
            }
            rendered.end(portion, in: batch.payloads)
        }
        for (fault, tokens) in route.faultsByReason(of: record) {
            outcomes.deadLetter(record: record.number, of: record.feed, tokens: tokens, fault)
        }
        return true
    }

    /// - Returns: false: the rest of the tokens is for another turn.
    private func findPortions(
        of record: PreparedRecord,
        _ rendered: RenderedPayloads,
        _ route: inout BatchRoute
    ) -> Bool {
        guard route.portions == nil else { return true }
        var plan = route.plan.take() ?? rendered.plan()
        while !plan.isComplete {
            guard workLeft > 0 else {
                route.plan = plan
                return false
            }
            let most = min(workLeft, ShardLimits.workAtOnce) / ShardLimits.workOfChoice + 1
            workLeft -= rendered.goOn(&plan, most: most) * ShardLimits.workOfChoice
        }
        route.portions = plan.portions(
            checksums: route.batch.checksums[record.notifications],
            most: Self.mostAtOnce(of: record, payloadBytes: rendered.mostBytes)
        )
        return true
    }

    /// The work of routing one notification of a record.
    private static func work(of record: PreparedRecord, payloadBytes: Int) -> Int {
        var work = 1 + payloadBytes / ShardLimits.payloadBytesPerUnit
        if record.coalescing != nil { work += ShardLimits.workOfCoalescing }
        if record.requestKey != nil { work += ShardLimits.workOfRequestID }
        return work
    }

    /// Most notifications of a record that are routed before the turn's work is looked at.
    private static func mostAtOnce(of record: PreparedRecord, payloadBytes: Int) -> Int {
        let most = ShardLimits.workAtOnce / work(of: record, payloadBytes: payloadBytes)
        return max(1, min(ShardLimits.routedAtOnce, most))
    }

    /// Routes notifications of a record that have the same payload.
    private func route(
        _ notifications: some RandomAccessCollection<Int>,
        of record: PreparedRecord,
        _ batch: PreparedBatch
    ) {
        guard let first = notifications.first else { return }
        let content = batch.content(of: first, in: record)
        workLeft -= notifications.count * Self.work(of: record, payloadBytes: content.payload.count)
        let lanes = gateway.lanes(of: record.topic)
        let hasRefused = !record.isBroadcast && hasRefused(of: record.topic)
        let isProbed = lanes.sending != .all
        let hasTroubled = !lanes.troubled.isEmpty
        var writer = NotificationWriter(
            to: lanes,
            content,
            isLone: notifications.count == 1,
            unixMilliseconds: unixMilliseconds()
        )
        var sent = 0
        if batch.isWithoutState { record.feed.sentWithoutState.mark(record.number) }
        // Each look at a column of the batch would count references to it.
        let (tokens, checksums, positions, verdicts) = (batch.tokens, batch.checksums, batch.positions, batch.verdicts)
        let assignment = record.feed.number
        for index in notifications {
            let reference = NotificationReference(
                assignment: assignment,
                record: record.number,
                token: positions[index]
            )
            let token = tokens[index]
            let checksum = checksums[index]
            guard isDue(reference, verdicts[index]) else {
                if verdicts[index] == .isRepetition { coalescing.arrivedBefore(index, of: record, in: batch) }
                continue
            }
            if hasRefused, isRefused(token, checksum, of: record.topic, record.kind) {
                outcomes.silence(reference, .invalid)
                continue
            }
            if let key = record.requestKey {
                let fingerprint = RequestFingerprint(token: token, key: key)
                guard enter(fingerprint, of: record.topic, reference, batch) else {
                    outcomes.settle(reference, .duplicate)
                    coalescing.arrivedBefore(index, of: record, in: batch)
                    continue
                }
            }
            guard !record.isDiscarded else {
                outcomes.settle(reference, .aborted)
                continue
            }
            if record.coalescing != nil, coalescing.takes(index, of: record, in: batch, lanes) { continue }
            if isProbed { noteProbe(reference, of: record.topic, expiration: record.expiration) }
            sent += 1
            writer.append(reference, token: token, checksum: checksum)
            if hasTroubled { lanes.inheritTrouble(reference, checksum: checksum, record.feed) }
        }
        gateway.noteSent(sent, isWithoutState: batch.isWithoutState)
    }

    /// A look-up lets the notification go on.
    private func isDue(_ reference: NotificationReference, _ verdict: PreparedBatch.Verdict) -> Bool {
        switch verdict {
        case .sends:
            return true
        case .isRepetition:
            outcomes.settle(reference, .duplicate)
        case .isDeadByFeedback, .isDeadAsInvalid, .isDeadAsUnregistered:
            outcomes.silence(reference, verdict.reasonOfDeath)
        }
        return false
    }

    // MARK: Requests that waited

    /// Sends a coalesced request. Findings since its arrival count.
    func send(_ request: WaitingRequest) {
        guard let feed = feeds[request.reference.assignment], feed.partition.phase == .active else { return }
        let wasRefused = request.token.withUnsafeBytes { token in
            isRefused(token, request.checksum, of: request.topic, request.terms.topicKind)
        }
        if wasRefused, !request.terms.isBroadcast {
            return outcomes.silence(request.reference, .invalid)
        }
        if let expiration = request.expiration, expiration != 0, Int64(expiration) < unixMilliseconds() / 1000 {
            return outcomes.settle(request.reference, .expired)
        }
        let lanes = gateway.lanes(of: request.topic)
        if lanes.sending != .all { noteProbe(request.reference, of: request.topic, expiration: request.expiration) }
        request.token.withUnsafeBytes { token in
            request.payload.withUnsafeBytes { payload in
                let content = NotificationContent(
                    payload: payload,
                    terms: request.terms,
                    expiration: request.expiration,
                    ids: request.ids
                )
                var writer = NotificationWriter(
                    to: lanes,
                    content,
                    isLone: true,
                    unixMilliseconds: unixMilliseconds()
                )
                writer.append(request.reference, token: token, checksum: request.checksum)
            }
        }
        if !lanes.troubled.isEmpty { lanes.inheritTrouble(request.reference, checksum: request.checksum, feed) }
        gateway.noteSent(1, isWithoutState: request.isWithoutState)
    }

    // MARK: Probes

    private func noteProbe(_ reference: NotificationReference, of topic: Topic, expiration: UInt32?) {
        guard let expiration, expiration != 0 else { return }
        probes[topic.index, default: []].append(Probe(reference: reference, expiration: expiration))
    }

    /// Ends notifications that expire while they wait for a probe. The next one may then wait.
    func expireProbes() {
        guard !probes.isEmpty else { return }
        let unixSeconds = unixMilliseconds() / 1000
        for lanes in gateway.all {
            guard let waiting = probes[lanes.topic.index] else { continue }
            guard lanes.sending != .all else {
                probes[lanes.topic.index] = nil
                continue
            }
            let expired = Set(waiting.lazy.filter { Int64($0.expiration) < unixSeconds }.map(\.reference))
            guard !expired.isEmpty else { continue }
            for feed in Set(expired.map(\.assignment)).sorted() {
                for reference in lanes.transport.takeWaiting(assignment: feed, where: expired.contains) {
                    outcomes.settle(reference, .expired)
                }
            }
            probes[lanes.topic.index] = waiting.filter {
                !expired.contains($0.reference) && feeds[$0.reference.assignment] != nil
            }
        }
    }

    // MARK: Refused tokens

    func hasRefused(of topic: Topic) -> Bool { hasRefused(of: topic.index) }

    private func hasRefused(of topic: Int32) -> Bool { refused[topic]?.values.contains { !$0.isEmpty } ?? false }

    /// The gateway has lately called the token invalid for topics of a kind, or for all.
    func isRefused(
        _ token: UnsafeRawBufferPointer,
        _ checksum: UInt32,
        of topic: Topic,
        _ kind: TopicKind
    ) -> Bool {
        guard let kinds = refused[topic.index] else { return false }
        func has(_ kind: TopicKind?) -> Bool { kinds[kind]?.contains(token, checksum: checksum) ?? false }
        return has(nil) || has(kind)
    }

    /// Notes a token called invalid by a gateway that does not seem wrong, or one that is dead by Redis' word. No more
    /// is sent to the token until the refusal is believed or not, because each notification would cost a connection.
    func refuse(_ token: TombstoneWriter.Refused) {
        refused[token.topic.index, default: [:]][token.kind, default: RefusedTokens()]
            .insert(token.token, checksum: token.checksum, refusedAt: token.refusedAt)
        gateway.silence(token)
    }

    /// Forgets the refusal of a token, because it is not believed.
    func forgive(_ token: TombstoneWriter.Refused) {
        refused[token.topic.index]?[token.kind]?.remove(token.token, checksum: token.checksum)
    }

    /// Notes that look-ups find a token's tombstone.
    ///
    /// - Parameter batch: the last one taken in so far.
    func tombstoneWritten(_ token: TombstoneWriter.Refused, through batch: UInt64) {
        refused[token.topic.index]?[token.kind]?.written(token.token, checksum: token.checksum, through: batch)
    }

    /// Notes that a look-up shows a registration of a token and no tombstone since.
    func registered(_ token: UnsafeRawBufferPointer, _ checksum: UInt32, of topic: Topic, at seconds: UInt32) {
        guard hasRefused(of: topic) else { return }
        for kind in kindsRefused(of: topic.index) {
            refused[topic.index]?[kind]?.registered(token, checksum: checksum, at: seconds)
        }
    }

    /// Notes that no notification up to this batch waits for its look-up any more.
    func passed(upTo number: UInt64) {
        guard !refused.isEmpty else { return }
        // Requests that wait to be coalesced were looked up with their batch.
        let oldest = min(coalescing.oldestBatch ?? .max, badges.oldestBatch ?? .max)
        let number = min(number, oldest == .max ? number : oldest - 1)
        for topic in refused.keys.sorted() where hasRefused(of: topic) {
            for kind in kindsRefused(of: topic) { refused[topic]?[kind]?.passed(batch: number) }
        }
    }

    /// The kinds of a topic that had refused tokens, in no order; nil: all kinds.
    private func kindsRefused(of topic: Int32) -> [TopicKind?] { refused[topic].map { Array($0.keys) } ?? [] }

    // MARK: Requests under way

    /// Enters a request that is on its way to its token; false if it was there before.
    private func enter(
        _ fingerprint: RequestFingerprint,
        of topic: Topic,
        _ reference: NotificationReference,
        _ batch: PreparedBatch
    ) -> Bool {
        requestsUnderWay.enter(
            fingerprint,
            of: topic.index,
            reference,
            batch: batch.number,
            oldest: batch.oldest
        ) { [feeds] other in
            feeds[other.assignment]?.isDone(other.record, token: other.token) ?? true
        }
    }

    /// Notes that Redis has a request.
    func remembered(_ fingerprint: RequestFingerprint, of topic: Topic, through batch: UInt64) {
        requestsUnderWay.remembered(fingerprint, of: topic.index, through: batch)
    }

    // MARK: Feeds

    /// Forgets feeds that are over or being given back.
    func forget(_ feeds: [AppFeed]) {
        for feed in feeds { coalescing.forget(feed: feed.number) }
        let numbers = Set(feeds.map(\.number))
        for (topic, waiting) in probes { probes[topic] = waiting.filter { !numbers.contains($0.reference.assignment) } }
    }
}
