import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics

/// Feeds consumed records to the intake, topic by topic, or passes them over.
///
/// A topic without credit, or one that does not work, is passed over by the live reader and fed again by the catch-up
/// reader. Bound to the shard's event loop.
final class RecordAdmission {
    let directory: AppDirectory
    private let memo = NotificationMemo()
    /// Nil: it is not watched that records lie in the partitions of their keys.
    private let placement: KeyPlacement?
    let intake: Intake
    private let memory: ShardMemory
    /// Most notifications of a feed that are taken in and not behind its cursor.
    var maxUncommitted: Int
    /// Makes the quota of a topic, or brings it up to date.
    var updateQuota: (AppAccount) -> Void = { _ in }
    /// Records that could not be moved to another lane, and are to be sent here, oldest first.
    var returned = CircularBuffer<(record: UInt32, feed: AppFeed)>()

    init(
        directory: AppDirectory,
        placement: KeyPlacement?,
        intake: Intake,
        memory: ShardMemory,
        maxUncommitted: Int
    ) {
        self.directory = directory
        self.placement = placement
        self.intake = intake
        self.memory = memory
        self.maxUncommitted = maxUncommitted
    }

    // MARK: Credit

    /// The feed may take one record more.
    func admits(_ feed: AppFeed) -> Bool {
        guard !feed.sharers.isEmpty else { return allows(feed.account, feed) }
        // A ledger takes offsets in order, so topics that share one wait for each other.
        return ([feed.account] + feed.sharers).allSatisfy { allows($0, feed) }
    }

    private func allows(_ account: AppAccount, _ feed: AppFeed) -> Bool {
        switch account.feeding {
        case .all: hasRoom(feed) && account.pace?.admits ?? true && hasRoomForMove(account)
        case .notifications(let limit): feed.account.notifications < limit && memory.budget.admitsProbe
        case .deadLetters(let records): records > 0 && hasRoom(feed)
        case .discards, .nothing: false
        }
    }

    /// The feed may take one record more that ends without being sent.
    private func admitsDiscarded(_ feed: AppFeed) -> Bool {
        guard ([feed.account] + feed.sharers).allSatisfy({ $0.feeding != .nothing }) else { return false }
        // Of the room for probes the others need theirs.
        return hasRoom(feed) && (!feed.account.isProbed || memory.budget.admitsProbe)
    }

    private func hasRoom(_ feed: AppFeed) -> Bool {
        feed.ledger.frontier.uncommitted < maxUncommitted && memory.admits(feed.account)
    }

    /// The lagging feed needs more records: it has used up half of its allowance.
    func wants(_ feed: AppFeed) -> Bool {
        // Read again, its records get cursors of their own.
        guard feed.hash != .others else { return directory.looksAtOthers }
        guard admits(feed) else { return wantsDiscarded(feed) }
        guard feed.account.feeding == .all else { return true }
        guard hasHalf(feed), hasRoomForMove(feed.account, times: 2) else { return false }
        return feed.account.pace?.isHalfFull ?? true || isBeingRead(feed)
    }

    /// The lagging feed goes on now, or as soon as its pace lets it.
    func goesOn(_ feed: AppFeed) -> Bool {
        feed.account.feeding == .all && (feed.account.pace == nil ? wants(feed) : hasHalf(feed))
    }

    private func hasHalf(_ feed: AppFeed) -> Bool {
        feed.ledger.frontier.uncommitted <= maxUncommitted / 2
            && memory.budget.admits(topicBytes: feed.account.bytes * 2)
    }

    /// The reader is in the partition: to begin anew costs it more than to go on.
    private func isBeingRead(_ feed: AppFeed) -> Bool { feed.partition.catchUp.position != nil }

    /// The lagging feed cannot have records that are to be sent, but its next one may be discarded.
    private func wantsDiscarded(_ feed: AppFeed) -> Bool {
        guard let discard = feed.account.topic?.control.discard, let next = feed.ledger.gap?.next else { return false }
        return next != feed.keptAt && discard.mayCover(partition: feed.partition.number, offset: next)
            && admitsDiscarded(feed) && (hasHalf(feed) || isBeingRead(feed))
    }

    /// An operator has discarded the record.
    private func isDiscarded(_ message: KafkaMessageView, _ found: FoundTopic) -> Bool {
        guard case .success(let found) = found, let discard = found.account.topic?.control.discard else { return false }
        return discard.covers(
            partition: message.partition,
            offset: message.offset,
            publishedAt: message.timestampMilliseconds
        )
    }

    // MARK: Live

    /// Takes in, or passes over, a record that the live reader has reached.
    func admitLive(_ message: KafkaMessageView, at index: Int, of partition: PartitionAssignment) {
        let offset = message.offset
        // After a seek or a pause librdkafka may deliver records again that were taken in already.
        if let next = partition.liveNext, offset < next { return }
        partition.moveLive(to: offset + 1)
        do throws(RecordRefusal) {
            let request = try decode(message)
            let found = findTopic(of: message, request.environment, in: partition)
            // Records below that were read before the commit.
            if let placement, offset >= partition.doneBelow { look(at: message, found, placement) }
            let feed = feed(of: found, message, request.environment, in: partition, isBehind: false)
            let isDiscarded = isDiscarded(message, found)
            guard takesLive(message, in: feed, isDiscarded: isDiscarded) else { return }
            giveToIntake(message, at: index, request, found, of: feed, isDiscarded: isDiscarded)
        } catch {
            let feed = feedOfUndecodable(message, in: partition, isBehind: false)
            guard takesLive(message, in: feed) else { return }
            intake.refuse(message, at: index, of: feed, tokens: nil, error)
        }
    }

    private func look(at message: KafkaMessageView, _ found: FoundTopic, _ placement: KeyPlacement) {
        guard case .success(let found) = found, let topic = found.account.topic else { return }
        placement.look(
            message.key,
            of: topic,
            shard: found.shard,
            in: message.partition,
            at: message.offset,
            publishedAt: message.timestampMilliseconds
        )
    }

    /// A feed takes a record that the live reader has reached; else it passes the record over, unless it is done.
    private func takesLive(_ message: KafkaMessageView, in feed: AppFeed, isDiscarded: Bool = false) -> Bool {
        guard message.offset >= feed.ledger.doneBelow else { return false }
        guard feed.ledger.isLive, admits(feed) || isDiscarded && admitsDiscarded(feed) else {
            feed.passOver(message.offset, as: GapStart(message))
            return false
        }
        return true
    }

    // MARK: Catching up

    /// Takes in the records of lagging topics from a batch of the catch-up reader.
    ///
    /// - Parameters:
    ///   - first: index of the first record to look at.
    ///   - start: the reader's position before it; topics to be fed from before it wait for another visit.
    func admitBehind(
        _ batch: KafkaBatch,
        from first: Int,
        of partition: PartitionAssignment,
        start: Int64
    ) -> CatchUpStop {
        var left: Set<AppHash> = []
        var position = start
        var stop = CatchUpStop.atEnd
        let looksAtAll = hasUnknownTopic(partition, from: start)
        for index in first..<batch.count {
            let message = batch[index]
            if message.isError {
                guard let error = message.error else { continue }
                guard !error.isPartitionEnd else {
                    position = max(position, message.offset)
                    continue
                }
                stop = .failed(error, at: message.offset)
                break
            }
            guard message.offset >= position else { continue }
            guard !intake.hasEnough else {
                stop = .enough(next: index)
                break
            }
            intake.countSeen(message)
            position = message.offset
            // Nothing from there on was passed over.
            if let next = partition.liveNext, position >= next {
                stop = .live
                break
            }
            // The key is looked at first, the value only if the bundle may lag.
            if looksAtAll || mayBeBehind(message.key, in: partition, from: start) {
                admitBehind(message, at: index, of: partition, from: start, &left)
            }
            position = message.offset + 1
        }
        partition.catchUp.passed(upTo: position)
        for feed in partition.feeds.values {
            guard let gap = feed.ledger.gap, gap.next >= start, !left.contains(feed.hash) else { continue }
            feed.fed(upTo: position)
        }
        return stop
    }

    private func admitBehind(
        _ message: KafkaMessageView,
        at index: Int,
        of partition: PartitionAssignment,
        from start: Int64,
        _ left: inout Set<AppHash>
    ) {
        let feed: AppFeed
        do throws(RecordRefusal) {
            let request = try decode(message)
            let found = findTopic(of: message, request.environment, in: partition)
            feed = self.feed(of: found, message, request.environment, in: partition, isBehind: true)
            let isDiscarded = isDiscarded(message, found)
            guard takesBehind(message, in: feed, from: start, &left, isDiscarded: isDiscarded) else { return }
            giveToIntake(message, at: index, request, found, of: feed, isDiscarded: isDiscarded)
        } catch {
            feed = feedOfUndecodable(message, in: partition, isBehind: true)
            guard takesBehind(message, in: feed, from: start, &left) else { return }
            intake.refuse(message, at: index, of: feed, tokens: nil, error)
        }
        partition.catchUp.fed(feed.hash, bytes: message.recordBytes)
    }

    /// A lagging feed takes a record that the catch-up reader has reached.
    private func takesBehind(
        _ message: KafkaMessageView,
        in feed: AppFeed,
        from start: Int64,
        _ left: inout Set<AppHash>,
        isDiscarded: Bool = false
    ) -> Bool {
        guard let gap = feed.ledger.gap, gap.next >= start, gap.next <= message.offset, !left.contains(feed.hash) else {
            return false
        }
        guard message.offset <= gap.last else { return false }
        guard admits(feed) || isDiscarded && admitsDiscarded(feed) else {
            if feed.hash == .others { directory.stopLookingAtOthers() }
            // Everything of the feed before this record was fed.
            feed.fed(upTo: message.offset)
            if !isDiscarded { feed.keptAt = message.offset }
            feed.lookedAtCursor(publishedAt: message.timestampMilliseconds)
            left.insert(feed.hash)
            return false
        }
        return true
    }

    private func hasUnknownTopic(_ partition: PartitionAssignment, from start: Int64) -> Bool {
        partition.feeds.values.contains { feed in
            guard let gap = feed.ledger.gap, gap.next >= start else { return false }
            return isUnknown(feed)
        }
    }

    /// Keys do not lead to the feed's hash. The bundle of a topic of the commit is not known before its first record,
    /// and its environment may be configured no longer.
    private func isUnknown(_ feed: AppFeed) -> Bool {
        feed.account.topic == nil && feed.account !== directory.others
    }

    private func mayBeBehind(
        _ key: UnsafeRawBufferPointer,
        in partition: PartitionAssignment,
        from start: Int64
    ) -> Bool {
        func isBehind(_ hash: AppHash) -> Bool {
            guard let gap = partition.feeds[hash]?.ledger.gap else { return false }
            return gap.next >= start
        }
        if isBehind(.refused) || isBehind(.others) { return true }
        guard let parsed = try? RecordKeyView(parsing: key) else { return false }
        return directory.hasHash(ofBundle: parsed.bundleID, salt: partition.salt, where: isBehind)
    }

    // MARK: Both

    /// Decodes a request, to be handed down and never wrapped: it is large, and each copy costs more than a tenth of
    /// reading it.
    func decode(_ message: KafkaMessageView) throws(RecordRefusal) -> SendRequestView {
        var isInPlace = false
        defer { if !isInPlace { intake.countDecoding(message) } }
        let request = try message.request(memo: memo)
        isInPlace = !request.ownsStorage
        return request
    }

    /// The topic of a record, or the reason why all of it becomes dead letters.
    private typealias FoundTopic = Result<AppDirectory.Found, RecordRefusal>

    private func findTopic(
        of message: KafkaMessageView,
        _ environment: UnsafeRawBufferPointer,
        in partition: PartitionAssignment
    ) -> FoundTopic {
        FoundTopic { () throws(RecordRefusal) in
            try directory.find(key: message.key, environment: environment, salt: partition.salt)
        }
    }

    private func feed(
        of found: FoundTopic,
        _ message: KafkaMessageView,
        _ environment: UnsafeRawBufferPointer,
        in partition: PartitionAssignment,
        isBehind: Bool
    ) -> AppFeed {
        // Of the topic that the record names; nil: it names none.
        var hash: AppHash? { AppDirectory.hash(key: message.key, environment: environment, salt: partition.salt) }
        switch found {
        case .failure:
            guard let hash else { return feedOfUndecodable(message, in: partition, isBehind: isBehind) }
            return partition.feed(ofRefused: hash, account: directory.refused)
        case .success(let topic):
            if topic.shard != nil, !topic.account.hasShards { topic.account.hasShards = true }
            guard topic.hash != .others else {
                // A bundle that once had a cursor of its own keeps it.
                guard let hash else { preconditionFailure("the key has named a bundle") }
                let known = partition.feeds[hash]
                return known.map { partition.claim($0, for: topic.account) }
                    ?? partition.overflow(hash, account: topic.account)
            }
            // A laggard of the commit is known by its hash alone until its first record comes.
            return partition.claim(partition.feed(of: topic.hash, account: topic.account), for: topic.account)
        }
    }

    private func feedOfUndecodable(
        _ message: KafkaMessageView,
        in partition: PartitionAssignment,
        isBehind: Bool
    ) -> AppFeed {
        partition.feed(ofUndecodableAt: message.offset, isBehind: isBehind, account: directory.refused) { feed in
            guard !isUnknown(feed) else { return true }
            guard let parsed = try? RecordKeyView(parsing: message.key) else { return false }
            return directory.hasHash(ofBundle: parsed.bundleID, salt: partition.salt) { $0 == feed.hash }
        }
    }

    private func giveToIntake(
        _ message: KafkaMessageView,
        at index: Int,
        _ request: SendRequestView,
        _ found: FoundTopic,
        of feed: AppFeed,
        isDiscarded: Bool
    ) {
        switch found {
        case .failure(let refusal):
            intake.refuse(message, at: index, of: feed, tokens: request.tokenCount, report: request.report, refusal)
        case .success(let found):
            // Of the record, not of the feed, which topics with one hash share.
            guard let topic = found.account.topic else { preconditionFailure("nothing is fed without a topic") }
            guard !isDiscarded || intake.mustAsk(request, message) else {
                return intake.abort(request, message, at: index, of: feed)
            }
            let admitted = AdmittedRecord(
                message: message,
                index: index,
                feed: feed,
                topic: topic,
                shard: found.shard,
                isDiscarded: isDiscarded
            )
            guard !isToBeMoved(request, admitted, found.account) else { return intake.move(request, admitted) }
            if !isDiscarded, found.account.pace != nil { found.account.pace?.take(request.tokenCount) }
            if case .deadLetters = topic.flow.feeding {
                topic.flow.tookDeadLetter()
                return intake.refuse(
                    message,
                    at: index,
                    of: feed,
                    tokens: request.tokenCount,
                    report: request.report,
                    RecordRefusal(
                        reason: "bundle-without-certificate",
                        detail: "no certificate for \(topic.bundleID) in environment \(topic.environment), "
                            + "for longer than worker.certificate-grace"
                    )
                )
            }
            intake.addRequest(request, admitted)
        }
    }
}
