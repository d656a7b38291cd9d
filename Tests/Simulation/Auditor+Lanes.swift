import RequestLanes

/// Lanes: order, coalescing and levers hold in each by itself, and urgent requests wait for no other (invariant 12).
extension Auditor {
    /// Longest time until an urgent notification is written to a connection, however much the other lanes have waiting:
    /// from its publication, or from the last time at which a member of its group began to read or stopped. A partition
    /// whose mark could not be read is looked at again within two seconds.
    static let urgency = VirtualTime.seconds(3)

    /// A process has its shards, which share what is known of topics and connections.
    func started(_ process: SimulatedProcess) {
        for worker in process.workers { processes[worker.number] = process.number }
    }

    func lane(of number: Int) -> RequestLane { world.records[notifications[number].record].lane }

    // MARK: Order

    /// The place of a notification's sequence among those of its token.
    func sequence(of number: Int) -> Int {
        let record = world.records[notifications[number].record]
        return world.laneMap.index(of: record.lane) * (options.coalescingKeys + 1) + record.coalescingKey
    }

    /// Order cannot be asked for among the notifications of its token and lane.
    func exempt(_ number: Int) {
        tokens[notifications[number].token].exemptLanes.insert(lane(of: number))
    }

    func isExempt(_ number: Int) -> Bool {
        tokens[notifications[number].token].exemptLanes.contains(lane(of: number))
    }

    // MARK: Requests of several lanes

    /// Its request is published to its token in another lane, too.
    func isRepeatedInOtherLane(_ number: Int) -> Bool {
        world.laneMap.hasSeveral && siblings(of: number).contains { lane(of: $0) != lane(of: number) }
    }

    /// It was left out, because Redis had the same request of another lane, and is read again without Redis.
    func mayHaveBeenDuplicate(_ number: Int) -> Bool {
        options.sendsWithoutRedis && isRepeatedInOtherLane(number)
    }

    /// A member fetches a record, be it once more: it may have asked Redis about it the first time.
    func noteTaking(_ record: Int, by member: SimulatedConsumer) {
        guard world.laneMap.hasSeveral else { return }
        let owner = owners[world.partition(ofRecord: record)]
        let since = owner?.member == member.number ? owner?.since ?? 0 : 0
        let key = [record, member.number]
        if let first = takenTimes[key], since <= first { return }
        takenTimes[key] = now
    }

    /// The earliest time at which the worker that has a record may have asked Redis about it. What another lane does
    /// may be known a moment later, and the record may be fetched once more after that.
    func takenTime(of record: Int, _ fetch: (member: Int, time: VirtualTime)) -> VirtualTime {
        guard world.laneMap.hasSeveral, let first = takenTimes[[record, fetch.member]] else { return fetch.time }
        return min(first, fetch.time)
    }

    // MARK: Urgency

    /// Checks the time of an urgent notification in a world that troubles no app, and in which no urgent request is
    /// held back.
    func checkUrgency(of number: Int, writtenAt: VirtualTime) {
        guard options.isCalm, lane(of: number) == .urgent else { return }
        let record = world.records[notifications[number].record]
        // Such wait for newer ones, or for what was published before.
        guard record.coalescingKey == 0, record.request == nil else { return }
        let since = max(World.start + record.time, world.broker.group(of: .urgent).movedAt)
        let waited = writtenAt - min(writtenAt, since)
        check(waited <= Self.urgency, 12, "\(name(number)) is urgent, and waited for \(waited / .milliseconds(1)) ms")
    }
}
