import PipelineCore

@testable import BelfryRuntime

/// Invariants 7, 9 and 10: memory is bounded, the service's connection rules are kept, and a wrong gateway is doubted.
extension Auditor {
    /// What a batch may add to a limit after it was looked at.
    private var batchNotifications: Int { options.batch * 12 }

    func checkLimits(of shard: WorkerShard) {
        // Each partition may bring one batch that was fetched before it was paused.
        check(
            shard.prepared.count <= ShardLimits.preparedBatches + 1 + options.partitions,
            7,
            "\(shard.prepared.count) batches are prepared"
        )
        for partition in shard.assigned.values {
            check(
                partition.frontier.uncommitted <= options.maxUncommitted + batchNotifications * 2,
                7,
                "\(partition.frontier.uncommitted) notifications are not committed, \(options.maxUncommitted) may be"
            )
        }
        for sender in shard.senders.senders {
            for lane in sender.lanes {
                check(
                    lane.machine.inFlightCount <= options.inFlight,
                    7,
                    "\(lane.machine.inFlightCount) notifications are in flight, \(options.inFlight) may be"
                )
            }
        }
    }

    /// A worker begins a new connection.
    func connecting(_ worker: SimulatedWorker, _ lane: GatewayLane) {
        var times = connects[worker.number] ?? []
        times.removeAll { $0 + .seconds(60) <= now }
        times.append(now)
        connects[worker.number] = times
        check(times.count <= options.connectionsPerMinute, 9, "\(worker.name): \(times.count) connections in a minute")
        if let failed = failures[ObjectIdentifier(lane)] {
            check(
                failed.time + World.backoffFloor <= now,
                9,
                "\(worker.name) connects \(now - failed.time) ns after a failure"
            )
        }
    }

    /// A connection, or an attempt, came to its end without an answer.
    func failed(_ lane: GatewayLane) {
        failures[ObjectIdentifier(lane)] = (lane, now)
    }

    func answered(_ lane: GatewayLane) {
        failures[ObjectIdentifier(lane)] = nil
    }

    /// While a gateway calls everything invalid, no more tombstones are written than it takes to notice that.
    func checkDoubt(_ token: Int, _ worker: SimulatedWorker) {
        let gateway = world.gateways[token / (World.tokenCount / WorldPlan.topics)]
        guard !gateway.invalid.contains(token) else { return }
        let key = worker.number * WorldPlan.topics + gateway.topic
        wrongTombstones[key, default: 0] += 1
        check(
            wrongTombstones[key, default: 0] <= 2 * World.tokenSample * max(1, gateway.wrongPhases),
            10,
            "\(worker.name) wrote \(wrongTombstones[key, default: 0]) tombstones on the word of a gateway that is wrong"
        )
    }
}
