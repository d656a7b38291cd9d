import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes

@testable import KafkaClient
@testable import Sender

/// Quotas of the urgent lane: records that workers move into the normal lane, because they are over the quota of their
/// app (invariant 12).
///
/// Each copy is a record of its own, for which all rules of the normal lane hold. The original needs no outcome once a
/// copy is in the log. Of several copies, as a crash makes them, a gateway cannot tell which one it accepts.
extension Auditor {
    /// Facts that are known of moves.
    struct Moves {
        /// The copies of a record, by that, in the order in which they were made.
        var copies: [Int: [Int]] = [:]
        /// The places of all copies among what was published; see ``Auditor/rank(of:)``.
        var ranks: [Int] = []
        /// Records of the plan that were published.
        var published = 0
        /// Records that a worker took in as over the quota. They are sent as urgent if they cannot be moved, or if they
        /// are taken in once more with room in the quota: be it behind newer ones.
        var overQuota: Set<Int> = []
        /// Tokens of urgent records that a worker has read and not moved, by its number and the topic.
        var read: [[Int]: Int] = [:]
        /// Tokens that count against quotas, by the number of the worker and the topic.
        var used: [[Int]: QuotaUse] = [:]
        /// The most of them that a worker had when it took a record in and did not count that, by the record and the
        /// number of the worker.
        var usedBefore: [[Int]: Double] = [:]
        /// Feeds of topics with quotas, by the number of the worker and their own.
        var feeds: [Int: [UInt32: SeenFeed]] = [:]
        /// Records that a worker's producer had to move, with its number and the time of the assignment.
        var handedOver: Set<[Int]> = []
        /// The same, of copies that are in the log.
        var stored: Set<[Int]> = []
    }

    // MARK: Copies

    /// The record was moved: a copy of it is in the log of the normal lane.
    func isMoved(_ number: Int) -> Bool { moves.copies[notifications[number].record] != nil }

    /// The record that the publisher published.
    func original(of number: Int) -> Int {
        let record = notifications[number].record
        return world.records[record].moved?.from ?? record
    }

    /// The records that a lane has of a published one: itself, or copies.
    func places(of record: Int, in lane: RequestLane) -> [Int] {
        guard firstOf.indices.contains(record) else { return [] }
        if world.records[record].lane == lane { return [record] }
        return lane == .normal ? moves.copies[record, default: []] : []
    }

    /// The notifications that a lane has of a published one.
    func numbers(record: Int, token: Int, in lane: RequestLane) -> [Int] {
        places(of: record, in: lane).compactMap { number(record: $0, token: token) }
    }

    /// The notifications of a published record to a token: its own, and those of copies.
    func twins(record: Int, token: Int) -> [Int] {
        guard firstOf.indices.contains(record) else { return [] }
        return ([record] + moves.copies[record, default: []]).compactMap { number(record: $0, token: token) }
    }

    /// The notification, and those of the same published record to the same token.
    func twins(of number: Int) -> [Int] {
        guard !moves.copies.isEmpty else { return [number] }
        return twins(record: original(of: number), token: notifications[number].token)
    }

    /// Redis may know its request from the record itself, or from another copy.
    func hasTwinArrived(_ number: Int) -> Bool {
        twins(of: number).contains { $0 != number && (notifications[$0].accepted > 0 || mayBeSuperseded($0)) }
    }

    /// A worker that reads several copies of a record calls a later one a duplicate while an earlier one is under way,
    /// which is judged by itself.
    func isTwinUnderWay(_ number: Int, by worker: Int, at time: VirtualTime) -> Bool {
        earlierTwins(of: number).contains { other in
            guard let read = fetchTimes[[notifications[other].record, worker]], read <= time else { return false }
            let twin = notifications[other]
            return twin.outcomeAt == nil || twin.outcomeBy != worker || time <= twin.decidedAt
        }
    }

    /// A worker has had an earlier copy of the same record in its hands.
    func wasTwinRead(_ number: Int) -> Bool {
        earlierTwins(of: number).contains { firstFetches[notifications[$0].record] != nil }
    }

    /// The notifications of its token out of copies of the same record that lie before its own.
    private func earlierTwins(of number: Int) -> [Int] {
        guard world.records[notifications[number].record].moved != nil else { return [] }
        return twins(of: number).filter {
            world.records[notifications[$0].record].moved != nil && rank(of: $0) < rank(of: number)
        }
    }

    /// The place of a notification in the order of publication, in which records of one token and lane lie in one
    /// partition.
    func rank(of number: Int) -> Int {
        let record = notifications[number].record
        let planned = world.plan.records.count
        return record < planned ? (record + 1) << 20 : moves.ranks[record - planned]
    }

    /// A record was published: what is moved from now on comes behind it.
    func noteRank(ofPublished record: Int) {
        if world.records[record].moved == nil { moves.published = max(moves.published, record + 1) }
    }

    /// A copy of a record is in the log of the normal lane.
    func add(copy: Int, of original: Int, _ record: Published) {
        let place = record.ownedSince.map { [original, record.worker, Int($0)] }
        check(
            place.map { moves.stored.insert($0).inserted } ?? true || world.hasBrokenProducers,
            3,
            "record \(original) is moved twice by one worker that has had it all the time"
        )
        if moves.copies[original] == nil {
            open -= (firstOf[original]..<end(of: original)).count { notifications[$0].outcomeAt == nil }
        }
        moves.copies[original, default: []].append(copy)
        moves.ranks.append(moves.published << 20 + moves.ranks.count + 1)
        firstOf.append(notifications.count)
        let entry = world.records[copy]
        for token in entry.tokens {
            let ordinal = World.ordinal(topic: entry.topic, key: entry.key, token: token)
            notifications.append(Notification(record: copy, token: ordinal))
        }
        open += entry.tokens.count
        fetches.append(nil)
        firstFetches.append(nil)
        if let request = entry.request { requests[request, default: []].append(copy) }
        // They are grouped anew.
        badgeNotifications = [:]
    }

    // MARK: Moving

    /// The record that a worker moves, by the place that the copy names; nil: it names none of the urgent lane.
    func original(of record: Published) -> SimulatedBroker.Stored? {
        let header = record.headers.last { $0.0 == MovedOrigin.headerName }
        let text = header.map { String(decoding: $0.1, as: UTF8.self) } ?? ""
        let parts = text.split { $0 == "/" || $0 == "@" }
        guard parts.count == 3, let number = Int32(parts[1]), let offset = Int64(parts[2]),
            let partition = world.laneMap.number(of: KafkaTopicPartition(topic: String(parts[0]), partition: number)),
            world.laneMap.lane(of: partition) == .urgent
        else { return nil }
        return recordMeant(at: offset, of: partition, by: record.worker) { $0.record.value == record.value }
    }

    /// A worker's producer takes a record that is to be moved.
    ///
    /// - Returns: since when the worker has had the partition of the record; nil: it has it no more.
    func moving(_ record: Published) -> VirtualTime? {
        guard let worker = world.workers.first(where: { $0.number == record.worker }) else { return nil }
        guard let original = original(of: record) else {
            check(false, 1, "\(worker.name) moves a record, and names no place of an urgent one")
            return nil
        }
        let moved = original.ordinal
        check(
            original.record.key == record.key && original.record.value == record.value,
            1,
            "\(worker.name) moves record \(moved), and changes it"
        )
        checkHeaders(of: record, moving: original.record, by: worker)
        // To move is to send: another owner would do it, too.
        let objection = objection(toWritingBy: worker)
        check(objection == nil, 3, "\(objection ?? ""): record \(moved) is moved")
        let partition = world.partition(ofRecord: moved)
        let holder = owners[partition].flatMap { $0.member == worker.member ? $0 : nil }
        let assigned = worker.shard?.stages.group.assigned ?? [:]
        let own = assigned.values.first { worker.consumer.ordinal(of: $0.place) == partition }
        // One that stood still may not know yet that it has lost the partition.
        check(
            own != nil || worker.shard == nil || assigned.isEmpty && holder != nil,
            3,
            "\(worker.name) moves record \(moved) of a partition that it has given back"
        )
        let topic = world.records[moved].topic
        let control = worker.controls.control(of: world.leverName(ofTopic: topic), in: .urgent)
        // In a partition that is being given back nothing is recalled.
        check(
            !control.isPaused || own?.phase == .revoking,
            11,
            "record \(moved) is moved, though its topic is paused, or its lane of that"
        )
        if let order = control.discard {
            check(!covers(order, moved), 11, "record \(moved) is moved, though it was discarded")
        }
        let place = holder.map { [moved, worker.number, Int($0.since)] }
        let isFirst = place.map { moves.handedOver.insert($0).inserted } ?? false
        // It may have been taken in just now.
        noteQuotas(of: worker)
        checkQuota(of: moved, by: worker, isAgain: !isFirst)
        if isFirst { moves.read[[worker.number, topic], default: 0] -= tokenCount(of: moved) }
        guard let owner = holder else { return nil }
        for number in firstOf[moved]..<end(of: moved) { checkUnsent(number, by: worker, owner, original.record.offset) }
        return owner.since
    }

    /// Checks that a copy keeps the headers that workers read, and lies where its key leads.
    private func checkHeaders(of record: Published, moving original: KafkaRecord, by worker: SimulatedWorker) {
        check(record.partition == nil, 1, "\(worker.name) moves a record into a partition of its own choice")
        // Others see another header there.
        guard worker.process.traits.readsJSON else { return }
        for name in [RecordContentType.headerName] + TraceContext.headerNames {
            let former = original.headers.last { $0.name == name }?.value
            let copied = record.headers.last { $0.0 == name }?.1
            let isTrace = name != RecordContentType.headerName
            let isTooLong = isTrace && (former?.count ?? 0) > TraceContext.limitBytes
            check(
                copied == (isTooLong ? nil : former),
                1,
                "\(worker.name) moves a record, and changes its header \(name)"
            )
        }
    }

    /// Checks that nothing of a record that is moved is done already.
    private func checkUnsent(_ number: Int, by worker: SimulatedWorker, _ owner: Ownership, _ offset: Int64) {
        check(
            !isBehind(owner.done, number, at: offset),
            3,
            "\(name(number)) is moved, though it was committed as done before"
        )
        // A late answer, or a producer that breaks, may undo that.
        guard options.isPunctual, !world.hasBrokenProducers, notifications[number].outcomeAt != nil else { return }
        let entry = notifications[number]
        check(
            entry.outcomeBy != worker.number || entry.decidedAt < owner.since,
            3,
            "\(name(number)) is moved by the worker that had settled it"
        )
    }

    // MARK: Outcomes

    /// Checks that an outcome tells the place that the publisher knows, if its record was moved.
    func checkOrigin(of record: Int, in outcome: PushOutcome, _ headers: [(String, [UInt8])]) {
        let header = headers.last { $0.0 == MovedOrigin.headerName }
        let named = header.map { String(decoding: $0.1, as: UTF8.self) }
        let origin = world.records[record].moved.map { place(ofRecord: $0.from) }
        check(
            named == origin && (origin.map { outcome.warning.contains($0) } ?? true),
            1,
            "an outcome of record \(record), from \(origin ?? "its publisher"), names \(named ?? "no place")"
        )
    }

    /// The place of a record as a copy of it, and the outcomes of that, name it.
    func place(ofRecord record: Int) -> String {
        let place = world.laneMap.place(of: world.partition(ofRecord: record))
        return "\(place.topic)/\(place.partition)@\(world.offset(ofRecord: record) ?? -1)"
    }
}
