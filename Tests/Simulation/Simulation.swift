import Dispatch
import Synchronization

/// Runs the worlds of many seeds, on as many threads as asked for.
struct Simulation {
    var first: UInt64
    var count: Int
    var threads: Int
    /// Of a hundred seeds so many are run a second time, to see whether the same comes out.
    var replayedPercent = 5
    /// The features that the seeds choose from, and the auditor's rules.
    var features = Features.current
    var checks = Checks.current

    /// The results of the seeds.
    struct Summary: Sendable {
        var seeds = 0
        var replayed = 0
        /// Ascending.
        var failed: [UInt64] = []
        /// Seeds that ran differently the second time.
        var unstable: [UInt64] = []
        /// Of all traces together, whatever the order in which they came.
        var hash: UInt64 = 0
        var events = 0

        var passes: Bool { failed.isEmpty && unstable.isEmpty }
    }

    func plan(_ seed: UInt64) -> WorldPlan { WorldPlan(seed: seed, features: features, checks: checks) }

    /// - Parameter onFailure: called for each seed that breaks an invariant, from any thread.
    func run(onFailure: @Sendable (UInt64, Auditor.Violation) -> Void) -> Summary {
        let summary = Mutex(Summary())
        let next = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: max(1, threads)) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                let seed = first + UInt64(index)
                let report = World(plan(seed)).run()
                let isReplayed = index % 100 < replayedPercent
                let isStable = !isReplayed || World(plan(seed)).run().hash == report.hash
                summary.withLock { summary in
                    summary.seeds += 1
                    summary.replayed += isReplayed ? 1 : 0
                    summary.events += report.events
                    summary.hash &+= report.hash
                    if report.violation != nil { summary.failed.append(seed) }
                    if !isStable { summary.unstable.append(seed) }
                }
                if let violation = report.violation { onFailure(seed, violation) }
            }
        }
        var result = summary.withLock { $0 }
        result.failed.sort()
        result.unstable.sort()
        return result
    }
}
