/// Notifications that need no outcome, or may get one after a world's end.
extension Auditor {
    /// Retention took its record.
    func isDeleted(_ number: Int) -> Bool {
        let record = notifications[number].record
        guard let offset = world.offset(ofRecord: record) else { return false }
        return offset < world.broker.low[Int(world.partition(ofRecord: record))]
    }

    /// Retention took its record before the group had committed anything: to the group the log begins behind it.
    func wasBeforeAllCommits(_ number: Int) -> Bool {
        let record = notifications[number].record
        guard let offset = world.offset(ofRecord: record) else { return false }
        return offset < world.broker.beginnings[Int(world.partition(ofRecord: record))]
    }

    /// Retention removed it, or an operator gave it up. Or Kafka has lost it, or its place in the log, and the client
    /// could not know.
    func isExcused(_ number: Int) -> Bool {
        notifications[number].isSkipped || isDeleted(number) || mayBeUnread(number) && !world.isCutKnown
    }

    /// Its topic never recovers.
    func isSick(_ number: Int) -> Bool { sickness(of: number)?.settles == false }

    /// The sickness of its topic; nil: that is healthy.
    func sickness(of number: Int) -> WorldPlan.Sickness.Kind? {
        guard !options.sick.isEmpty else { return nil }
        let record = world.records[notifications[number].record]
        guard record.form != .withoutCertificate else { return nil }
        return options.sick.first { $0.topic == record.topic }?.kind
    }

    /// No notification must have an outcome, and has none.
    var isNoneWaiting: Bool {
        // A notification that needs no excuse any more never needs one again.
        while waitingStart < notifications.count, !isWaiting(waitingStart) { waitingStart += 1 }
        return waitingStart == notifications.count
    }

    /// Notifications that must have an outcome, and have none.
    var waiting: Int { notifications.indices.count(where: isWaiting) }

    private func isWaiting(_ number: Int) -> Bool {
        notifications[number].outcomeAt == nil && !isMoved(number) && !isExcused(number) && !isSick(number)
    }

    /// All that healthy topics have is behind what is committed, or has its outcome where a sick topic without a name
    /// may hold the offset.
    var isCommittedButForSick: Bool {
        world.broker.partitions.enumerated().allSatisfy { number, stored in
            let committed = world.broker.committed[Int32(number)]
            guard let position = CommittedPosition(committed, options) else { return false }
            return stored.allSatisfy { entry in
                guard position.isFull || areBadTokensBehind(position, entry) else { return false }
                return (firstOf[entry.ordinal]..<end(of: entry.ordinal)).allSatisfy { number in
                    isSick(number) || isExcused(number) || isBehind(position, number, at: entry.record.offset)
                        || position.isFull && (notifications[number].outcomeAt != nil || isMoved(number))
                }
            }
        }
    }

    /// An operator has set a partition's position: what lies before it and is not done never will be.
    func skipped(_ partition: Int32, places: Range<Int>) {
        let committed = CommittedPosition(world.broker.committed[partition], options)
        for entry in world.broker.partitions[Int(partition)][places] {
            for number in firstOf[entry.ordinal]..<end(of: entry.ordinal) {
                if notifications[number].outcomeAt == nil { notifications[number].isSkipped = true }
                // It may have been about to be sent again behind an older one.
                if !isBehind(committed, number, at: entry.record.offset) {
                    exempt(number)
                }
            }
        }
    }

    /// Its request was published to its token once more, and not by a worker that moved it.
    func isRepeated(_ number: Int) -> Bool {
        siblings(of: number).contains { other in
            original(of: other) != original(of: number)
                && world.offset(ofRecord: notifications[other].record) != nil
        }
    }

    /// The notifications that carry the same request to the same token, itself included.
    func siblings(of number: Int) -> [Int] {
        guard let request = world.records[notifications[number].record].request else { return twins(of: number) }
        return requests[request, default: []].compactMap {
            self.number(record: $0, token: notifications[number].token)
        }
    }
}
