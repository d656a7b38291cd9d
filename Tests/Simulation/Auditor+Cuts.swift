@testable import KafkaClient

/// Logs that are cut: what Kafka lost needs no outcome, and no worker that knows of it reads on without a word.
extension Auditor {
    /// Longest time until a worker tells that its log was cut, once its client has told the worker.
    static let alarmPatience = VirtualTime.seconds(120)

    /// Records are lost. They may get their outcomes from workers that have read them, and need none.
    ///
    /// - Parameter count: the records that are left.
    func cutAway(_ lost: [SimulatedBroker.Stored], of partition: Int32, leaving count: Int) {
        for entry in lost {
            for number in firstOf[entry.ordinal]..<end(of: entry.ordinal) {
                if notifications[number].outcomeAt == nil { notifications[number].isSkipped = true }
                // Accepted, it is not sent again behind older ones.
                exempt(number)
            }
        }
        auditedEnd[partition] = min(auditedEnd[partition] ?? 0, count)
    }

    /// An operator has set the partition: all that its log has from there on is read.
    func cutMended(_ cut: LogCut) {
        let place = world.broker.place(of: cut.end, in: cut.partition)
        auditedEnd[cut.partition] = min(auditedEnd[cut.partition] ?? 0, place)
        waitingStart = 0
    }

    /// Its record has an offset that another one had before the log was cut, and that may have been passed by then.
    func isReplacement(_ number: Int) -> Bool {
        guard let cut = world.broker.cut else { return false }
        let record = notifications[number].record
        guard world.partition(ofRecord: record) == cut.partition, let offset = world.offset(ofRecord: record),
            cut.end <= offset, offset < cut.passed
        else { return false }
        return !cut.lost.contains { $0.ordinal == record }
    }

    /// The commit of a partition is beyond the end of its log, and no operator has set it.
    func isBeyondCut(_ partition: Int32) -> Bool {
        guard let cut = world.broker.cut, cut.partition == partition, !cut.isMended else { return false }
        return world.broker.end(of: partition) < world.broker.committed[partition]?.offset ?? 0
    }

    /// A position may be beyond it though no worker has read it, until an operator has set the partition.
    func mayBeUnread(_ number: Int) -> Bool { world.broker.cut?.isMended == false && isReplacement(number) }

    /// Checks that a worker which knows of the cut tells it.
    func checkCutAlarm() {
        guard !world.isCutTold else { return }
        for worker in world.workers {
            guard let told = worker.consumer.toldOfCutAt else { continue }
            check(
                now <= told + Self.alarmPatience,
                1,
                "\(worker.name) was told that its log is cut, and tells nobody"
            )
        }
    }

    /// The record that a worker means by an offset: that of the log, or one that was cut away.
    ///
    /// - Parameter isMeant: the worker names what tells a record from others.
    func recordMeant(
        at offset: Int64,
        of partition: Int32,
        by worker: Int,
        _ isMeant: (SimulatedBroker.Stored) -> Bool
    ) -> SimulatedBroker.Stored? {
        let log = world.broker.partitions[Int(partition)]
        let place = world.broker.place(of: offset, in: partition)
        let present = place < log.count && log[place].record.offset == offset ? log[place] : nil
        guard let cut = world.broker.cut, cut.partition == partition,
            let lost = cut.lost.first(where: { $0.record.offset == offset })
        else { return present }
        guard let present else { return lost }
        // Both may be what the worker names: a request that was published twice, once behind the cut.
        let both = [present, lost]
        let meant = both.filter(isMeant)
        guard meant.count != 1 else { return meant[0] }
        return both.first { fetchTimes[[$0.ordinal, worker]] != nil } ?? present
    }
}
