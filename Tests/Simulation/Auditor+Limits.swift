import PipelineCore

@testable import Sender

/// Invariants 7, 9 and 10: memory is bounded, the service's connection rules are kept, and a wrong gateway is doubted.
extension Auditor {
    func checkLimits(of shard: WorkerShard, _ worker: SimulatedWorker) {
        let stages = shard.stages
        check(
            stages.lookup.count <= ShardLimits.preparedBatches + ShardLimits.passedBatches,
            7,
            "\(stages.lookup.count) batches are prepared"
        )
        for partition in stages.group.assigned.values {
            for feed in partition.feeds.values {
                let uncommitted = feed.ledger.frontier.uncommitted
                check(
                    uncommitted < options.maxUncommitted + largestRecord,
                    7,
                    "\(uncommitted) notifications of a topic are not done, \(options.maxUncommitted) may be"
                )
            }
        }
        if holds(.bytes), options.memoryBytes > 0 { checkBytes(of: shard, worker) }
        // Topic by topic, for a list of all lanes is an allocation at every step.
        for topic in stages.group.directory.accounts.indices {
            guard let lanes = stages.gateway.lanes(ofTopic: Int32(topic)) else { continue }
            switch lanes.way {
            case .binary(let binary):
                for lane in binary.lanes { checkInFlight(lane.machine.inFlightCount) }
            case .streams(let lane):
                checkInFlight(lane.inFlightCount)
            }
        }
    }

    /// Checks the work of one event of a worker's loop: virtual time does not see how long it takes.
    func checkWork(of worker: SimulatedWorker) {
        // The rest of a slice, and the next one, to each of two Kafka topics, or three where records are moved.
        let calls = worker.producer.calls
        worker.producer.calls = 0
        check(
            calls <= (options.quotas.isEmpty ? 4 : 6) * options.publicationUnits,
            7,
            "\(worker.name) produces \(calls) messages at once, of \(options.publicationUnits) in a turn"
        )
        let records = worker.shard?.stages.intake.counters.records ?? 0
        let taken = records - worker.recordsBefore
        worker.recordsBefore = records
        if taken > 0 { noteQuotas(of: worker) }
        check(
            taken <= ShardLimits.batchesPerTurn * options.batch + ShardLimits.catchUpRecords,
            7,
            "\(worker.name) takes \(taken) records at once"
        )
    }

    private func checkInFlight(_ count: Int) {
        check(count <= options.inFlight, 7, "\(count) notifications are in flight, \(options.inFlight) may be")
    }

    /// A worker begins a new connection of a credential, whose first connections are no reconnects: as many as it may
    /// have.
    func connecting(_ worker: SimulatedWorker, of owner: CredentialConnections) {
        if connectedLanes[ObjectIdentifier(owner)] == nil { all[worker.process.number, default: 0] += 1 }
        connecting(worker, owner)
    }

    /// A worker begins a new connection.
    ///
    /// - Parameter lane: a lane or a credential.
    func connecting(_ worker: SimulatedWorker, _ lane: AnyObject) {
        if connectedLanes.updateValue(lane, forKey: ObjectIdentifier(lane)) == nil { return }
        let process = worker.process
        var times = connects[process.number] ?? []
        times.removeAll { $0 + .seconds(60) <= now }
        times.append(now)
        connects[process.number] = times
        let others = all[process.number, default: 0] * (options.lanes - 1)
        check(
            times.count <= options.connectionsPerMinute + others,
            9,
            "\(process.name): \(times.count) connections in a minute"
        )
        if let failed = failures[ObjectIdentifier(lane)] {
            check(
                failed.time + World.backoffFloor <= now,
                9,
                "\(worker.name) connects \(now - failed.time) ns after a failure"
            )
        }
    }

    /// A connection, or an attempt, came to its end without an answer.
    ///
    /// - Parameter lane: a lane or a credential.
    func failed(_ lane: AnyObject) {
        failures[ObjectIdentifier(lane)] = (lane, now)
    }

    func answered(_ lane: AnyObject) {
        failures[ObjectIdentifier(lane)] = nil
    }

    /// A worker has read that a record's content was refused. A handful of such answers condemn it: three tokens,
    /// twice each, and those that other lanes have in flight by then. Tokens with payloads of their own take more, and
    /// a presumption that comes too early clears the content.
    func contentRefusalRead(of record: Int, by worker: SimulatedWorker) {
        // Of several copies it is not known which one was refused.
        let places = places(of: record, in: worker.lane)
        guard let record = places.first, places.count == 1 else { return }
        // Fed to a worker anew, a record shows it again what has no outcome yet.
        let since = owners[world.partition(ofRecord: record)]?.since ?? 0
        let key = [record, worker.number, Int(since)]
        contentRefusals[key, default: 0] += 1
        guard options.isPunctual, !world.records[record].addsToBadge else { return }
        let count = contentRefusals[key, default: 0]
        check(
            count <= 6 + 4 * options.lanes,
            9,
            "\(worker.name) lost \(count) connections to the content of record \(record)"
        )
    }

    /// A notification became a dead letter for want of a certificate: the bundle was without for the whole grace, and
    /// has no registered tokens.
    func checkGivenUp(_ number: Int, at time: VirtualTime) {
        guard !world.hasClockJumps else { return }
        let isUncertified = world.records[notifications[number].record].form == .withoutCertificate
        let gap = certificateGap(of: number)
        check(
            isUncertified || gap != nil && !options.hasRegistrations,
            10,
            "\(name(number)) is given up, though its bundle has a certificate, or registered tokens"
        )
        check(
            isGraceOver(for: number, at: time),
            10,
            "\(name(number)) is given up before the grace for its certificate is over"
        )
    }

    /// A worker may have ended it for want of a certificate, though the brokers took no dead letter or outcome of it.
    func mayBeGivenUp(_ number: Int) -> Bool {
        certificateGap(of: number) != nil && !options.hasRegistrations
            && (world.hasClockJumps || isGraceOver(for: number, at: now))
    }

    /// The time without a certificate of a topic that has one at others.
    private func certificateGap(of number: Int) -> WorldPlan.CertificateGap? {
        let record = world.records[notifications[number].record]
        guard record.form != .withoutCertificate else { return nil }
        return options.certificateGaps.first { $0.topic == record.topic }
    }

    private func isGraceOver(for number: Int, at time: VirtualTime) -> Bool {
        let record = world.records[notifications[number].record]
        let isUncertified = record.form == .withoutCertificate
        // No worker has missed it before a first record came, or while it was there.
        let first = world.plan.records.first { isUncertified ? $0.form == record.form : $0.topic == record.topic }
        let missedAt = World.start + max(first?.time ?? 0, certificateGap(of: number)?.from ?? 0)
        // Wall clocks tell milliseconds.
        return missedAt + options.certificateGrace <= time + .milliseconds(2)
    }

    /// A worker's process and a topic, whose health its shards share.
    func key(_ worker: SimulatedWorker, _ topic: Int) -> Int { worker.process.number * WorldPlan.mostTopics + topic }

    /// A token was refused: by a gateway that knows it?
    func noteDoubtful(_ token: Int) {
        guard !world.gateways[World.place(ofToken: token).topic].invalid.contains(token) else {
            tokens[token].wronglyRefusedAt = nil
            return
        }
        // A refusal that has waited for longer is not believed any more.
        if let first = tokens[token].wronglyRefusedAt, now < first + Self.belief { return }
        tokens[token].wronglyRefusedAt = now
    }

    /// Longest time for which a refusal waits to be believed, and for Redis.
    private static let belief = VirtualTime.seconds(40)

    /// A wrong gateway is believed only if it has accepted something of the topic after the refusal, and while it calls
    /// everything invalid, no more tombstones are written than it takes to notice that.
    func checkDoubt(_ token: Int, _ worker: SimulatedWorker) {
        guard let refusedAt = tokens[token].wronglyRefusedAt else { return }
        let gateway = world.gateways[World.place(ofToken: token).topic]
        let key = key(worker, gateway.topic)
        // Silence that is no acceptance pays, too, where answers come after the window.
        if options.isPunctual, holds(.noWrongTombstone) {
            check(
                acceptances[key].map { $0 > refusedAt } ?? false,
                10,
                "\(worker.name) wrote a tombstone for token \(token), though the gateway has accepted nothing since"
            )
        }
        wrongTombstones[key, default: 0] += 1
        // Each shard of the process may have a sample in flight.
        let most = 2 * World.tokenSample * max(1, gateway.wrongPhases) * worker.process.lanes.count
        check(
            wrongTombstones[key, default: 0] <= most,
            10,
            "\(worker.name) wrote \(wrongTombstones[key, default: 0]) tombstones on the word of a gateway that is wrong"
        )
    }
}
