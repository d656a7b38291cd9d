import PipelineCore

/// Work and state of a harvester, at one moment.
package struct HarvesterReport: Sendable, Equatable {
    /// One list.
    struct List: Sendable, Equatable {
        var bundleID: String
        var environment: String
        var counters: ListHarvest.Counters
        var step: HarvestStateMachine.Step
        var holdsLease: Bool
        /// Tuples the broker has not acknowledged.
        var unacknowledged: Int
        /// Since the list was read to its end, or since the start.
        var age: Duration
    }

    var lists: [List]
    /// Tuples published again after a refusal.
    var retries: Int
    var applied: RecordApplier.Counters
    /// Of push.feedback.
    var partitions: [RecordApplier.Partition]
    var isRedisReady: Bool
    /// Its consumer has its place in the group; an empty assignment is one.
    var isInGroup: Bool
}

extension ListHarvest {
    func report(now: MonotonicTime) -> HarvesterReport.List {
        .init(
            bundleID: source.bundleID,
            environment: source.environment,
            counters: counters,
            step: machine.step,
            holdsLease: machine.holdsLease(now: now),
            unacknowledged: machine.unacknowledged,
            age: lastCompleted.elapsed(until: now)
        )
    }
}
