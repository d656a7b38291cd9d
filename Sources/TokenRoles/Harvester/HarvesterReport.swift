import BelfrySupport
import PipelineCore
import PushTopics

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
    /// The reason why the host's clock may not decide; nil: it may.
    var clockObstacle: String?
    /// Of its applier.
    var serverTimes: [RecordApplier.ServerTimes] = []

    /// The lists under their names in metrics. Lists that come later stand last, so that none changes its name.
    var namedLists: [List] {
        lists.enumerated().map { place, list in
            guard place >= Self.mostNames else { return list }
            var other = list
            other.bundleID = Self.otherName
            return other
        }
    }

    /// Most lists with names of their own.
    static let mostNames = 200
    /// No bundle ID has this form: it lacks a dot.
    static let otherName = "other"
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

/// The harvester's part of `/status`.
extension HarvesterReport {
    /// - Parameter kafkaTopic: the one whose tuples are applied.
    func describe(_ kafkaTopic: String, in status: inout RoleStatus) {
        status.partitions += partitions.map {
            .init(kafkaTopic: kafkaTopic, number: $0.number, lagRecords: $0.lagRecords)
        }
        let oldest = lists.sorted { ($1.age, $0.bundleID) < ($0.age, $1.bundleID) }.prefix(Self.mostNames)
        status.harvests += oldest.map { list in
            .init(
                topic: list.bundleID,
                environment: list.environment,
                ageSeconds: list.age / .seconds(1),
                step: list.step.rawValue,
                holdsLease: list.holdsLease,
                unacknowledged: list.unacknowledged
            )
        }
        status.totals["tuples", default: 0] += lists.reduce(0) { $0 + $1.counters.tuples }
        status.totals["applied", default: 0] += applied.applied
        status.totals["deadLetters", default: 0] += applied.deadLetters
    }
}
