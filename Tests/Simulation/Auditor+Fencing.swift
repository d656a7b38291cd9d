import Foundation
import PipelineCore
import PushTopics

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// Invariant 3, of commits: only owners commit, nothing goes back, and a member that may have lost the partition does
/// not send.
extension Auditor {
    /// Longest wait for a commit's answer before nothing new is written.
    static let commitPatience = SimulatedGroup.sessionTimeout / 3
    /// Longest time until that is noticed.
    private static let tick = VirtualTime.milliseconds(100)

    func commitSent(_ member: SimulatedConsumer) {
        memberships[member.number, default: .init()].unanswered.append(now)
        if world.holdsOffsets(member) { heldCommits += 1 }
    }

    func commitAnswered(_ member: SimulatedConsumer, _ error: KafkaError?, sentAt: VirtualTime) {
        var known = memberships[member.number] ?? .init()
        // The answer to a commit from before an assignment is not that to one of it.
        if let index = known.unanswered.firstIndex(of: sentAt) { known.unanswered.remove(at: index) }
        known.answeredAt = now
        // A cooperative group may move on without a word to a member that keeps what it has.
        if error == nil { known.isFenced = false }
        memberships[member.number] = known
        guard let error, [KafkaError.unknownMember.code, KafkaError.illegalGeneration.code].contains(error.code) else {
            return
        }
        // The refusal of a commit from before an assignment says nothing about that assignment.
        if sentAt > known.assignedAt { fenced(member) }
    }

    /// A member has learnt what it is assigned, hence that it is one.
    func heardAssignment(_ member: SimulatedConsumer) {
        memberships[member.number, default: .init()].isFenced = false
        memberships[member.number, default: .init()].unanswered = []
        memberships[member.number, default: .init()].assignedAt = now
    }

    /// A member has learnt that it is none any more.
    func fenced(_ member: SimulatedConsumer) {
        memberships[member.number, default: .init()].isFenced = true
    }

    /// The reason that a worker has no right to write now; nil: it has.
    func objection(toWritingBy worker: SimulatedWorker) -> String? {
        guard let known = memberships[worker.member] else { return nil }
        if holds(.fencing), known.isFenced {
            return "\(worker.name) sends, though it knows that it is not a member any more"
        }
        guard holds(.commitPatience) else { return nil }
        if let first = known.unanswered.first, first + Self.commitPatience + Self.tick < now {
            return "\(worker.name) sends, though a commit is unanswered since \((now - first) / .milliseconds(1)) ms"
        }
        if worker.loop.lastHold >= Self.commitPatience, known.answeredAt < worker.loop.heldUntil,
            !known.unanswered.isEmpty || known.answeredAt > 0
        {
            return "\(worker.name) stood still, and sends before a commit was answered"
        }
        return nil
    }

    /// Within one assignment no topic's cursor goes back; where not all laggards fit, the offset may.
    func checkProgress(_ position: CommittedPosition, of partition: Int32, by member: SimulatedConsumer) {
        guard let owner = owners[partition], owner.member == member.number else { return }
        owners[partition]?.last = position
        guard holds(.neverBack), let last = owner.last ?? owner.done else { return }
        let isNotBefore = position.isNotBefore(last, isInherited: owner.last == nil)
        check(isNotBefore, 3, "\(member.name) committed \(partition)@\(position.offset): it goes back")
        guard !position.isFull, !last.isFull, !world.holdsOffsets(member) else { return }
        let known = owner.last ?? last.takenOver
        let stored = world.broker.partitions[Int(partition)]
        var isBehindBefore: [AppHash: Bool] = [:]
        for entry in stored {
            let topic = world.topic(of: entry.ordinal)
            // Below both cursors nothing went back.
            let offset = entry.record.offset
            if known.isWhollyBehind(offset, topic: topic), position.isWhollyBehind(offset, topic: topic) { continue }
            // Only what lies before the former cursor counts: done ranges may be left out.
            guard isBehindBefore[topic] ?? true else { continue }
            let numbers = firstOf[entry.ordinal]..<end(of: entry.ordinal)
            guard numbers.allSatisfy({ isBehind(known, $0, at: entry.record.offset) }) else {
                isBehindBefore[topic] = false
                continue
            }
            guard numbers.allSatisfy({ isBehind(position, $0, at: entry.record.offset) }) else {
                let places = "\(partition)@\(position.offset), behind @\(last.offset)"
                return check(false, 3, "\(member.name) committed \(places)")
            }
        }
    }

    /// Checks that notifications which Redis remembers as arrived are not sent again.
    func checkRememberedRequest(of number: Int) {
        let objection = rememberedRequest(of: number)
        check(objection == nil, 3, objection ?? "")
    }

    /// The reason why a notification must not be sent, as far as Redis tells it; nil: it may.
    func rememberedRequest(of number: Int) -> String? {
        guard options.dedupeWindow > 0, options.publishesAll, !options.sendsWithoutRedis,
            let fetch = fetches[notifications[number].record]
        else { return nil }
        for sibling in siblings(of: number) where sibling != number && notifications[sibling].accepted > 0 {
            // A notification whose fate was given up is not remembered, even if it was accepted.
            guard notifications[sibling].hasArrived, let settled = notifications[sibling].outcomeAt else { continue }
            // Of two lanes both may be under way at once.
            let isOfOneLane = lane(of: sibling) == lane(of: number)
            let time = isOfOneLane ? fetch.time : takenTime(of: notifications[number].record, fetch)
            if settled < time { return "\(name(number)) was sent, though its request arrived before" }
        }
        return nil
    }

    // MARK: Dead letters

    /// A dead letter is stored.
    func deadLettered(_ letter: Published) {
        guard letter.topic == World.names.deadLetters else { return }
        func header(_ name: String) -> String? {
            letter.headers.last { $0.0 == name }.map { String(decoding: $0.1, as: UTF8.self) }
        }
        guard let reason = header("reason"), let topic = header("source-topic"),
            let number = header("source-partition").flatMap({ Int32($0) }),
            let offset = header("source-offset").flatMap({ Int64($0) }),
            let partition = world.laneMap.number(of: KafkaTopicPartition(topic: topic, partition: number))
        else { return check(false, 8, "a dead letter without its source") }
        let meant = recordMeant(at: offset, of: partition, by: letter.worker) { $0.record.value == letter.value }
        guard let meant else { return check(false, 8, "a dead letter names \(partition)@\(offset)") }
        // A producer that breaks, or an assignment that begins anew, may repeat it.
        guard holds(.deadLetters), !world.hasBrokenProducers, let owner = owners[partition] else { return }
        let record = meant.ordinal
        // Refusals of content wait for each other for a time, and not while their topic stops.
        let isRefusedContent = world.records[record].refusal != nil && reason.hasPrefix("gateway-status")
        let most = isRefusedContent ? 4 : 1
        let assignment = "\(letter.worker) \(owner.since) \(record)"
        let count = deadLetters["\(assignment) \(reason)", default: 0] + 1
        deadLetters["\(assignment) \(reason)"] = count
        check(count <= most, 8, "record \(record) has \(count) dead letters: \(reason)")
        let key = [letter.worker, Int(owner.since), record]
        deadLetterBytes[key, default: 0] += letter.value.count
        let bytes = meant.record.value?.count ?? 0
        let isSmall = deadLetterBytes[key, default: 0] <= (most + 1) * bytes
        check(isSmall, 8, "dead letters of record \(record) are larger than \(most + 1) times it")
    }

    // MARK: Isolation

    /// Its own records are the trouble: some are poison, or larger than what may be in flight.
    private func isTroubledByItself(_ topic: Int) -> Bool {
        world.plan.records.contains { record in
            record.topic == topic && (!record.poison.isEmpty || record.tokens.count > WorldPlan.tokensPerKey)
        }
    }

    /// Over HTTP/2 healthy topics share connections; with a handful of streams they wait for each other's answers.
    private func isShortOfStreams(_ topic: Int) -> Bool {
        options.streams.contains(topic) && options.lanes * options.mostStreams < 8
    }

    /// Windows that a topic's record may wait for: those before it hold the topic's credit until their window ends.
    private func coalescingWindows(of topic: Int) -> VirtualTime {
        guard options.coalescingWindow > 0 else { return 0 }
        let held = world.plan.records.reduce(0) { held, record in
            held + (record.topic == topic && record.coalescingKey > 0 ? record.tokens.count : 0)
        }
        return held < options.maxUncommitted ? 0 : VirtualTime(held / options.maxUncommitted + 1)
    }

    /// A healthy topic's time from publishing to acceptance, while nothing but other topics is sick.
    func checkTime(of number: Int) {
        guard options.isIsolated, holds(.isolation), sickness(of: number) == nil else { return }
        // A topic slowed by its own settings, or by a fault that meets all, is not harmed by others; connections
        // that are renewed every second or two spend the whole budget.
        guard world.plan.faults.isEmpty, options.inFlight >= 100, options.connectionMaxAge == 0 else { return }
        let record = world.records[notifications[number].record]
        guard !isTroubledByItself(record.topic), !isShortOfStreams(record.topic) else { return }
        guard record.coalescingKey == 0, record.request == nil else { return }
        guard !options.certificateGaps.contains(where: { $0.topic == record.topic }) else { return }
        // Each of its own bad tokens costs it a connection, for which it waits its turn among the sick ones.
        let turnSeconds = options.invalidTokens > 0 ? 60 * options.sick.count / options.connectionsPerMinute : 0
        let limit =
            VirtualTime.seconds(5 + turnSeconds) + options.window * 4 + options.blockingCalls * 4
            + options.coalescingWindow * coalescingWindows(of: record.topic)
        let waited = now - min(now, World.start + record.time)
        check(waited <= limit, 6, "\(name(number)) was accepted after \(waited / .milliseconds(1)) ms")
    }
}
