import PipelineCore
import RequestLanes

@testable import Sender

/// Connections of the urgent lane that are kept open (invariants 9 and 10): while nothing is to be sent over them, they
/// tell nothing about their topic, and cost little.
extension Auditor {
    /// Facts that are known of connections that are only kept warm.
    struct Warmth {
        /// Topics of which a process has read a record, by the numbers of both: there may be something to send.
        var fed: Set<[Int]> = []
        /// Since when a worker has had no urgent partition, by its number, as of its last event.
        var withoutPartition: [Int: VirtualTime] = [:]
        /// Since when a worker has known that a topic is paused in the urgent lane, by the numbers of both.
        var pausedSince: [[Int]: VirtualTime] = [:]
        /// Connections of the last minute that a process has opened again for others, by its number.
        var attempts: [Int: [VirtualTime]] = [:]
    }

    /// Longest time for which connections are kept warm when they are not to be any more: the lease of 5 s, and what a
    /// worker takes to look at its partitions.
    static let warmthLapse = VirtualTime.seconds(8)

    /// A worker has urgent partitions, or has none.
    func noteWarmth(of worker: SimulatedWorker, hasPartition: Bool) {
        let since = warmth.withoutPartition[worker.number] ?? now
        warmth.withoutPartition[worker.number] = hasPartition ? nil : since
    }

    /// A worker has read the levers.
    func noteControls(of worker: SimulatedWorker) {
        guard worker.lane == .urgent else { return }
        for topic in options.warm {
            let isPaused = worker.controls.control(of: world.leverName(ofTopic: topic), in: .urgent).isPaused
            let since = warmth.pausedSince[[worker.number, topic]] ?? now
            warmth.pausedSince[[worker.number, topic]] = isPaused ? since : nil
        }
    }

    /// A worker gets a record to read, be it once more.
    func noteFeeding(_ record: Int, by member: SimulatedConsumer) {
        guard !options.warm.isEmpty else { return }
        warmth.fed.insert([processes[member.number] ?? member.number, world.records[record].topic])
    }

    /// Nothing was ever to be sent for the topic by the process. Topics that share a provider key share connections.
    private func isUnused(_ topic: Int, by process: SimulatedProcess) -> Bool {
        !options.warm.isEmpty && !options.keyed.contains(topic) && !warmth.fed.contains([process.number, topic])
    }

    /// A worker begins a connection, and the auditor has not noted it yet.
    ///
    /// - Parameter lane: a lane or a credential.
    func connectingUnused(_ worker: SimulatedWorker, to topic: Int, _ lane: AnyObject) {
        let process = worker.process
        guard isUnused(topic, by: process) else { return }
        check(
            options.warm.contains(topic) && worker.lane == .urgent,
            9,
            "\(worker.name) connects to topic \(topic), for which nothing is to be sent"
        )
        checkWanted(topic, by: worker)
        // The first one in its place is no repetition.
        guard connectedLanes[ObjectIdentifier(lane)] != nil else { return }
        var times = warmth.attempts[process.number] ?? []
        times.removeAll { $0 + .seconds(60) <= now }
        times.append(now)
        warmth.attempts[process.number] = times
        check(
            times.count <= max(1, options.connectionsPerMinute / 2),
            9,
            "\(process.name): \(times.count) connections in a minute to topics for which nothing is to be sent"
        )
    }

    /// Checks that a topic for which nothing is to be sent may be kept warm, or might be a moment ago: its worker has
    /// an urgent partition, and the topic is not paused.
    private func checkWanted(_ topic: Int, by worker: SimulatedWorker) {
        // A connection that is old, has a former certificate or is told goodbye gets a successor all the same.
        let hasSuccessors = world.plan.faults.contains { fault in
            switch fault.kind {
            case .certificateReplaced, .farewell: true
            default: false
            }
        }
        guard options.connectionMaxAge == 0, !hasSuccessors else { return }
        let hasPartition = worker.shard.map { !$0.stages.group.active.isEmpty } ?? false
        let without = hasPartition ? nil : warmth.withoutPartition[worker.number]
        for since in [without, warmth.pausedSince[[worker.number, topic]]].compactMap(\.self) {
            check(
                // One that stood still has not looked meanwhile.
                now <= max(since, worker.loop.heldUntil) + Self.warmthLapse,
                9,
                "\(worker.name) connects to topic \(topic), which it has had no reason to keep warm for long"
            )
        }
    }

    /// Checks the health of topics for which nothing was to be sent.
    func checkWarmth(of shard: WorkerShard, _ worker: SimulatedWorker) {
        guard !options.warm.isEmpty, worker.lane == .urgent else { return }
        noteWarmth(of: worker, hasPartition: !shard.stages.group.active.isEmpty)
        for account in shard.stages.group.directory.accounts {
            guard let topic = account.topic, topic.health.state != .works,
                let index = World.topic(ofBundle: topic.bundleID)
            else { continue }
            stopped(index, in: worker.process)
        }
    }

    /// A topic does not work for a process.
    func stopped(_ topic: Int, in process: SimulatedProcess) {
        check(
            !isUnused(topic, by: process),
            10,
            "\(process.name) has stopped topic \(topic), for which nothing was to be sent"
        )
    }
}
