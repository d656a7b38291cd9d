import Logging
import PipelineCore

/// The topics as time goes by, and their health at the gateway.
extension Gateway {
    /// Lets time pass in the lanes, and acts on topics that do not work.
    ///
    /// - Parameter isLate: the event loop was held up, so that an answer may lie unread in a socket: silence proves
    ///   nothing yet.
    func tick(now: MonotonicTime, isLate: Bool) -> [Event] {
        var events: [Event] = []
        // Late ticks count for none: if every other one is late, a topic at rest must not be looked at in those alone.
        if !isLate { ticks += 1 }
        shareRetained()
        for (index, topic) in topics.enumerated() {
            guard let topic else { continue }
            // Of hundreds of topics most are at rest: nothing but their age can bring news.
            let isAtRest = topic.isAtRest
            if isAtRest, topic.wasAtRest, !(ticks + index).isMultiple(of: ShardLimits.ticksAtRest) { continue }
            topic.wasAtRest = isAtRest
            if !isLate {
                if topic.topic.flow.keepsWarm { topic.transport.keepWarm(now: now) }
                topic.transport.tick(now: now)
                checkStandstill(of: topic, now: now)
            }
            if let event = tend(topic, now: now) { events.append(event) }
        }
        if !isLate { streams.tick(now: now) }
        frames.rest(now: now)
        return events
    }

    /// Shares what may be kept of presumed notifications among the lanes there are by now.
    private func shareRetained() {
        guard sharesAreDue else { return }
        sharesAreDue = false
        let share = ShardLimits.retainedShare(lanes: binaryLanes)
        for case .binary(let lanes)? in topics.lazy.map({ $0?.way }) { lanes.retain(share: share) }
    }

    private func checkStandstill(of topic: AppLanes, now: MonotonicTime) {
        guard topic.sending == .all || topic.sending == .probing else { return }
        if topic.transport.standsStill(now: now) { fail(topic.topic, .unreachable, now: now) }
    }

    /// Looks at what a topic may do now, and acts on it.
    private func tend(_ lanes: AppLanes, now: MonotonicTime) -> Event? {
        let (topic, transport) = (lanes.topic, lanes.transport)
        let random = settings.randomBits
        let shard = shard
        let waitsForBudget = lanes.sending == .probing && !isHeld && transport.isWaitingForBudget
        let state = topic.health.change { health in
            if waitsForBudget { health.probeWaitsForBudget(shard: shard, now: now) }
            health.tick(now: now, random: random())
            return health.state
        }
        let actions = topic.flow.look(state, shard: shard, lanes: transport)
        return carryOut(actions, lanes, state, now: now) ? .topicIsQuiet(topic) : nil
    }

    /// - Returns: the topic is to be rewound.
    private func carryOut(
        _ actions: [AppFlow.Action],
        _ lanes: AppLanes,
        _ state: AppHealth.State,
        now: MonotonicTime
    ) -> Bool {
        let random = settings.randomBits
        let (topic, transport, shard) = (lanes.topic, lanes.transport, shard)
        var isRewound = false
        for action in actions {
            switch action {
            case .admitAll: transport.admitAll()
            case .admitProbe: transport.admitProbe()
            case .suspend:
                transport.suspend()
                let next = topic.flow.suspended(state, shard: shard, isHeld: isHeld, now: now, lanes: transport)
                if carryOut(next, lanes, state, now: now) { isRewound = true }
            case .beginProbe:
                guard topic.health.change({ $0.beginProbe(shard: shard, now: now, random: random()) }) else { continue }
                topic.flow.probeBegan()
                transport.admitProbe()
            case .endProbe: endProbe(of: topic)
            case .leaveProbe: topic.health.change { $0.leaveProbe(shard: shard, now: now, random: random()) }
            case .rewind: isRewound = true
            case .tellStopped: log("topic does not work; it lags and is probed", lanes, state, level: .critical)
            case .tellWorks: log("topic works again", lanes, level: .notice)
            }
        }
        return isRewound
    }

    /// Takes back all notifications of a topic that no connection has taken, to be fed anew under its levers. Those in
    /// flight settle.
    func recall(_ topic: Topic) {
        let lanes = lanes(of: topic)
        topic.flow.recall()
        lanes.transport.suspend()
    }

    /// Ends the probe of a topic without anything to send, here or in the stages before.
    func endProbe(of topic: Topic) {
        let now = clock()
        let random = settings.randomBits
        topic.health.change { $0.endProbe(shard: shard, now: now, random: random()) }
    }

    /// This shard probes the topic and has none of its notifications in its lanes.
    func isIdleProber(_ topic: Topic) -> Bool {
        guard let lanes = lanes(ofTopic: topic.index), topic.flow.sending == .probing else { return false }
        return lanes.transport.inFlightCount == 0 && lanes.transport.waitingCount == 0
    }
}
