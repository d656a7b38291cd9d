@testable import Sender

/// Logs that are cut, and the operator who mends what the group makes of it.
extension World {
    /// A worker has told that a log was cut.
    var isCutTold: Bool {
        cutsCounted > 0 || workers.contains { $0.shard?.stages.retention.offsetsBeyondEnd ?? 0 > 0 }
    }

    /// A worker has told that a log was cut, or its client has just told the worker.
    var isCutKnown: Bool { isCutTold || workers.contains { $0.consumer.toldOfCutAt != nil } }

    /// The group's commit is beyond the end of a log that was cut, and its member reads before that, for topics that
    /// lag: it cannot know, and the commit stays where it is.
    func isCommittedBeyondCut(_ partition: Int32) -> Bool {
        guard auditor.isBeyondCut(partition) else { return false }
        return workers.contains { worker in
            worker.consumer.position(in: partition).map { $0 <= broker.end(of: partition) } ?? false
        }
    }

    func cutLog(of partition: Int32, records: Int, hasEpochs: Bool, for time: VirtualTime) {
        guard broker.cutLog(of: partition, records: records, hasEpochs: hasEpochs, for: time) else { return }
        waitForAlarm()
    }

    private func waitForAlarm() {
        clock.after(.milliseconds(500)) { [self] in
            auditor.checkCutAlarm()
            guard isCutTold else { return waitForAlarm() }
            clock.after(dice.time(500...8000)) { [self] in mendCut() }
        }
    }

    /// An operator sets the partition to where its log was cut.
    private func mendCut() {
        guard !isClosed else { return mendCutLater() }
        withoutMembers(for: 0) { [self] in
            // Metadata that no worker can read is mended first.
            if !broker.mendCut() { mendCutLater() }
        }
    }

    private func mendCutLater() {
        clock.after(.milliseconds(500)) { [self] in mendCut() }
    }
}
