import PipelineCore

/// Injects the faults of a plan.
extension World {
    func inject(_ fault: Fault) {
        note(.fault, fault.worker, fault.topic, "FAULT \(fault.kind) for \(fault.lasting / .milliseconds(1)) ms")
        let running = processes.filter(\.isRunning)
        if !running.isEmpty { meet(fault, running[fault.worker % running.count]) }
        meet(fault, gateways[fault.topic % gateways.count])
        switch fault.kind {
        case .scale:
            guard !isClosed else { return }
            startWorker(slot: processes.count)
            let process = processes[processes.count - 1]
            clock.after(fault.lasting) { process.stop() }
        case .brokerAway: broker.goAway(for: fault.lasting)
        case .redisAway:
            redis.goAway(for: fault.lasting)
            for worker in running.flatMap(\.workers) { worker.pipeline?.lose() }
        case .retention(let percent): broker.deleteRecords(of: partition(of: fault), percent: percent)
        case .logCut(let records, let hasEpochs):
            cutLog(of: partition(of: fault), records: records, hasEpochs: hasEpochs, for: fault.lasting)
        case .offsetsSet(let records):
            withoutMembers(for: fault.lasting) { [self] in broker.setOffset(of: partition(of: fault), by: records) }
        case .unknownMetadata:
            withoutMembers(for: 0) { [self] in
                let partition = partition(of: fault)
                guard let known = broker.committed[partition] else { return }
                broker.setMetadata(CommittedPosition.unknownMetadata, of: partition)
                mend(partition, known.metadata, after: fault.lasting)
            }
        case .commitsExpire:
            withoutMembers(for: 0) { [self] in
                let partition = partition(of: fault)
                guard let known = broker.forgetCommit(of: partition) else { return }
                mend(partition, known, after: fault.lasting)
            }
        case .redisClockJump(let seconds): redis.skewSeconds += Int64(seconds)
        case .redisBroken(let token): redis.damage(token: token)
        case .publishingRefused(let isUnknown): refuse(topic: fault.topic, isUnknown: isUnknown, for: fault.lasting)
        case .registrations: registerRefused()
        case .paused, .paced, .discarded: pullLever(fault)
        default: break
        }
    }

    private func partition(of fault: Fault) -> Int32 { Int32(fault.topic % laneMap.count) }

    /// An operator puts the metadata in order that no worker could read.
    private func mend(_ partition: Int32, _ metadata: String, after time: VirtualTime) {
        clock.after(time) { [self] in
            guard !isClosed else { return mend(partition, metadata, after: .milliseconds(500)) }
            withoutMembers(for: 0) { [self] in broker.setMetadata(metadata, of: partition) }
        }
    }

    /// An operator sets the offset of a partition whose commit has expired.
    private func mend(_ partition: Int32, _ known: SimulatedBroker.Committed, after time: VirtualTime) {
        clock.after(time) { [self] in
            guard !isClosed else { return mend(partition, known, after: .milliseconds(500)) }
            withoutMembers(for: 0) { [self] in broker.restoreCommit(known, of: partition) }
        }
    }

    /// An operator stops all workers, does something once the group is empty, and starts them again after a time.
    func withoutMembers(for time: VirtualTime, _ body: @escaping () -> Void) {
        guard !isClosed else { return }
        isClosed = true
        for process in processes { process.stop() }
        waitForEmptyGroups { [self] in
            body()
            clock.after(time) { [self] in
                isClosed = false
                for slot in 0..<plan.options.workers where !processes[slot].isRunning { startWorker(slot: slot) }
            }
        }
    }

    private func waitForEmptyGroups(_ body: @escaping () -> Void) {
        clock.after(.milliseconds(200)) { [self] in
            guard !processes.contains(where: \.isRunning), broker.groups.allSatisfy(\.members.isEmpty) else {
                return waitForEmptyGroups(body)
            }
            body()
        }
    }

    /// Apps register some tokens that were refused. The gateway knows them from then on, or goes on naming the time of
    /// their death, and the registrar tells the followers of push.tombstones a while later.
    private func registerRefused() {
        let refused = auditor.tokens.indices.filter { auditor.tokens[$0].refusedAt > 0 }
        guard !refused.isEmpty else { return }
        let first = dice.pick(0...refused.count - 1)
        for token in refused[first...].prefix(4) {
            let topic = Self.place(ofToken: token).topic
            let seconds = Self.unixSeconds(clock.now)
            note(.fault, token, 0, "token \(token) registers")
            if !gateways[topic].namesTimeOfDeath(of: token) || !dice.chance(25) {
                gateways[topic].invalid.remove(token)
            }
            redis.register(key: redisKey(of: token), at: seconds)
            clock.after(dice.time(5...2000)) { [self] in
                tombstones.appendRegistration(
                    of: tokens.bytes[token],
                    environment: plan.options.environment(of: topic),
                    bundleID: Self.bundles[topic],
                    at: seconds
                )
            }
        }
    }

    /// A topic stops working for good.
    func fallSick(_ sickness: WorldPlan.Sickness) {
        let gateway = gateways[sickness.topic]
        note(.fault, 0, sickness.topic, "topic \(sickness.topic) is sick from now on: \(sickness.kind)")
        gateway.isSick = true
        switch sickness.kind {
        case .certificateRefused: gateway.refusesCertificateUntil = .max
        case .unreachable:
            gateway.unreachableUntil = .max
            for connection in gateway.connections { connection.cut() }
            for connection in gateway.streamed { connection.cut() }
        case .halfDead: gateway.die(until: .max)
        case .everythingInvalid:
            gateway.refusesEverythingUntil = .max
            gateway.wrongPhases += 1
        case .slow: gateway.slow = (.max, 100)
        case .poisoned: gateway.isPoisonedForGood = true
        case .someInvalid: gateway.makeSomeInvalid()
        // The records have the tokens, and the directory has no certificate.
        case .badTokens, .certificateMissing: break
        }
    }

    /// Lets a fault meet one worker process.
    private func meet(_ fault: Fault, _ process: SimulatedProcess) {
        switch fault.kind {
        case .crash:
            process.crash()
            restart(process, after: fault.lasting)
        case .stop:
            process.stop()
            restart(process, after: fault.lasting)
        case .holdUp:
            process.hold(for: fault.lasting)
            for worker in process.workers { evict(worker, after: fault.lasting) }
        case .suspension:
            process.suspend(for: fault.lasting)
            for worker in process.workers { evict(worker, after: fault.lasting) }
        case .tombstonesAway: process.follower?.reader.awayUntil = clock.now + fault.lasting
        case .clockJump(let seconds): process.jump(seconds: seconds)
        case .rebalance: broker.groups[fault.topic % broker.groups.count].rebalance(joining: nil)
        default: meet(fault, process.workers[fault.topic % process.workers.count])
        }
    }

    /// Lets a fault that a process' clients have each by themselves meet one shard.
    private func meet(_ fault: Fault, _ worker: SimulatedWorker) {
        let end = clock.now + fault.lasting
        switch fault.kind {
        case .groupUnreachable:
            worker.consumer.unreachableUntil = end
            evict(worker, after: fault.lasting)
        case .commitsLost(let isApplied): worker.consumer.commitFaults.lost = (end, isApplied)
        case .commitsLate: worker.consumer.commitFaults.answersLateUntil = end
        case .commitsDeferred(let isInClient):
            worker.consumer.commitFaults.deferred = (end, isInClient)
            guard isInClient else { return }
            worker.consumer.unreachableUntil = end
            evict(worker, after: fault.lasting)
        case .commitsUnanswered(let isApplied): worker.consumer.commitFaults.unanswered = (end, isApplied)
        case .commitsThrow: worker.consumer.commitFaults.throwsUntil = end
        case .assignmentFails: worker.consumer.failsAssignment = true
        case .producerBroken: worker.producer.breakDown()
        case .acknowledgementsLate: worker.producer.lateUntil = end
        case .redisHangs: worker.pipeline?.hang(for: fault.lasting)
        default: break
        }
    }

    /// Lets a fault meet one topic.
    private func meet(_ fault: Fault, _ gateway: SimulatedGateway) {
        guard !gateway.isSick else { return }
        let end = clock.now + fault.lasting
        switch fault.kind {
        case .cut:
            for connection in gateway.connections { connection.cut() }
            for connection in gateway.streamed { connection.cut() }
        case .gatewayUnreachable: gateway.unreachableUntil = end
        case .stall: gateway.stalledUntil = end
        case .shutdown:
            for connection in gateway.connections { connection.shutDown() }
            for connection in gateway.streamed { connection.goAway(isError: false) }
        case .refusal(let status, let names): gateway.nextRefusal = (status, names)
        case .certificateRefused: gateway.refusesCertificateUntil = end
        case .certificateReplaced:
            gateway.edition += 1
            gateway.refusesNewestUntil = end
            // The row of refusals begins anew with another credential, which topics may share.
            for other in gateways where clock.now < other.disallowsTopicUntil { other.disallowedPhases += 1 }
        case .sentinelsUnanswered: gateway.silencesSentinelsUntil = end
        case .everythingInvalid:
            gateway.refusesEverythingUntil = end
            gateway.wrongPhases += 1
        case .answersLate: gateway.answersLateUntil = end
        case .halfDead: gateway.die(until: end)
        case .farewell: for connection in gateway.connections { connection.sayGoodbye() }
        case .slow(let rate): gateway.slow = (end, rate)
        default: meetStreams(fault, gateway, until: end)
        }
    }

    /// Lets a fault that only HTTP/2 knows meet one topic.
    private func meetStreams(_ fault: Fault, _ gateway: SimulatedGateway, until end: VirtualTime) {
        switch fault.kind {
        case .streamLimit(let streams):
            gateway.limit = (end, streams)
            for connection in gateway.streamed { connection.limitStreams() }
            clock.at(end) { for connection in gateway.streamed { connection.limitStreams() } }
        case .streamsRefused: gateway.refusesStreamsUntil = end
        case .streamsReset: gateway.resetsStreamsUntil = end
        case .mute: gateway.muteUntil = end
        case .serviceTrouble(let percent): gateway.trouble = (end, percent)
        case .tooManyRequests: gateway.throttlesUntil = end
        case .topicDisallowed:
            gateway.disallowsTopicUntil = end
            gateway.disallowedPhases += 1
        case .goAwayWithError:
            for connection in gateway.streamed { connection.goAway(isError: true) }
        default: break
        }
    }

    /// A worker process ends because a client of a shard cannot go on.
    func failed(_ process: SimulatedProcess) {
        process.crash()
        restart(process, after: .seconds(1))
    }

    /// Another process takes the place, as a supervisor would see to it, when the former one has ended.
    func restart(_ process: SimulatedProcess, after time: VirtualTime) {
        clock.after(time) { [self] in
            guard processes[process.slot] === process else { return }
            if process.isRunning || isClosed {
                restart(process, after: .milliseconds(200))
            } else {
                startWorker(slot: process.slot)
            }
        }
    }

    /// A member that is not heard of for the length of a session is thrown out, and learns it: by itself if only the
    /// group cannot be reached, later if it does not run.
    private func evict(_ worker: SimulatedWorker, after time: VirtualTime) {
        guard time > SimulatedGroup.sessionTimeout else { return }
        clock.after(SimulatedGroup.sessionTimeout) {
            let group = worker.consumer.group
            guard worker.isRunning, group.contains(worker.consumer) else { return }
            group.remove(worker.consumer)
            worker.loop.deliver(after: 0) { worker.consumer.lose() }
        }
    }
}
