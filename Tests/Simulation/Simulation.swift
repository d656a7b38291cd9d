import Dispatch
import Synchronization

/// Plays the worlds of many seeds, on as many threads as asked for.
struct Simulation<Worlds: WorldKind> {
    var worlds: Worlds
    var first: UInt64
    var count: Int
    var threads: Int
    /// Of a hundred seeds so many are run a second time, to see whether the same comes out.
    var replayedPercent = 5

    /// - Parameter onFailure: called for each seed that breaks a promise, with that, from any thread.
    func run(onFailure: @Sendable (UInt64, String) -> Void) -> SimulationSummary {
        let summary = Mutex(SimulationSummary())
        let next = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: max(1, threads)) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                let seed = first + UInt64(index)
                let world = worlds.play(seed)
                let isReplayed = index % 100 < replayedPercent
                let isStable = !isReplayed || worlds.play(seed).hash == world.hash
                summary.withLock { summary in
                    summary.seeds += 1
                    summary.replayed += isReplayed ? 1 : 0
                    summary.events += world.events
                    summary.hash &+= world.hash
                    if world.violation != nil { summary.failed.append(seed) }
                    if !isStable { summary.unstable.append(seed) }
                }
                if let violation = world.violation { onFailure(seed, violation) }
            }
        }
        var result = summary.withLock { $0 }
        result.failed.sort()
        result.unstable.sort()
        return result
    }
}

/// The results of many seeds.
struct SimulationSummary: Sendable {
    var seeds = 0
    var replayed = 0
    /// Ascending.
    var failed: [UInt64] = []
    /// Seeds that ran differently the second time, ascending.
    var unstable: [UInt64] = []
    /// Of all traces together, whatever the order in which they came.
    var hash: UInt64 = 0
    var events = 0

    var passes: Bool { failed.isEmpty && unstable.isEmpty }
}
