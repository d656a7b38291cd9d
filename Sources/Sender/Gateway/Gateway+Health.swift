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

    private func checkStandstill(of topic: TopicLanes, now: MonotonicTime) {
        guard topic.sending == .all || topic.sending == .probing else { return }
        if topic.transport.standsStill(isHeld: isHeld, now: now) { fail(topic, .unreachable, now: now) }
    }

    /// Acts on the state of a topic's health.
    private func tend(_ lanes: TopicLanes, now: MonotonicTime) -> Event? {
        lanes.refusedContents.expire(now: now)
        let random = settings.randomBits
        let shard = shard
        let waitsForBudget = lanes.sending == .probing && !isHeld && lanes.transport.isWaitingForBudget
        let state = lanes.topic.health.change { health in
            if waitsForBudget { health.probeWaitsForBudget(shard: shard, now: now) }
            health.tick(now: now, random: random())
            return health.state
        }
        if lanes.topic.control.isPaused || lanes.isRecalled { return tendHeldBack(lanes, state) }
        switch state {
        case .works:
            guard lanes.hasCertificate else { return waitForCertificate(lanes) }
            if lanes.sending != .all { resume(lanes) }
        case .probing(_, shard, _):
            guard lanes.hasCertificate || lanes.transport.inFlightCount > 0 else {
                endProbe(of: lanes.topic)
                return nil
            }
            if lanes.sending == .probing { lanes.transport.admitProbe() } else { lanes.sending = .probing }
        case .stopped, .probing:
            return suspend(lanes, state, now: now)
        }
        return nil
    }

    private func resume(_ lanes: TopicLanes) {
        lanes.sending = .all
        lanes.transport.admitAll()
        if !lanes.isHeldBack { log("topic works again", lanes, level: .notice) }
        lanes.isHeldBack = false
    }

    private func suspend(_ lanes: TopicLanes, _ state: TopicHealth.State, now: MonotonicTime) -> Event? {
        // Also if it stopped while an operator held it back.
        let isNews = lanes.sending == .all || lanes.isHeldBack && lanes.sending != .probing
        if lanes.sending == .all || lanes.sending == .probing { lanes.sending = .suspending }
        if isNews {
            lanes.isHeldBack = false
            log("topic does not work; it lags and is probed", lanes, state, level: .critical)
        }
        lanes.transport.suspend()
        guard lanes.transport.isQuiet else { return nil }
        if lanes.sending == .suspending { return .topicIsQuiet(lanes.topic) }
        guard lanes.transport.waitingCount > 0, lanes.hasCertificate, !isHeld, case .stopped(_, let until) = state,
            until <= now
        else { return nil }
        let random = settings.randomBits
        if lanes.topic.health.change({ $0.beginProbe(shard: shard, now: now, random: random()) }) {
            lanes.sending = .probing
            lanes.transport.admitProbe()
        }
        return nil
    }

    /// Lets lanes with a connection go on. What waits in the others is fed anew: to be sent when a certificate comes,
    /// or as dead letters.
    private func waitForCertificate(_ lanes: TopicLanes) -> Event? {
        if lanes.sending != .held { lanes.sending = .suspending }
        return lanes.sending == .suspending && lanes.transport.isStranded ? .topicIsQuiet(lanes.topic) : nil
    }

    /// Notes whether the bundle has a certificate.
    func setCertificate(isThere: Bool, of topic: Topic) {
        guard let lanes = lanes(ofTopic: topic.index), lanes.hasCertificate != isThere else { return }
        lanes.hasCertificate = isThere
        // A lane that waits for a probe is given up as well.
        if !isThere, lanes.sending == .held { lanes.sending = .suspending }
    }

    /// The unsent notifications of a quiet topic were given up. One record may wait for a probe.
    func topicWasRewound(_ topic: Topic) {
        let lanes = lanes(of: topic)
        lanes.isRecalled = false
        if lanes.sending == .suspending { lanes.sending = .held }
    }

    /// Ends the probe of a topic without anything to send, here or in the stages before.
    func endProbe(of topic: Topic) {
        let now = clock()
        let random = settings.randomBits
        topic.health.change { $0.endProbe(shard: shard, now: now, random: random()) }
    }

    /// This shard probes the topic and has none of its notifications in its lanes.
    func isIdleProber(_ topic: Topic) -> Bool {
        guard let lanes = lanes(ofTopic: topic.index), lanes.sending == .probing else { return false }
        return lanes.transport.inFlightCount == 0 && lanes.transport.waitingCount == 0
    }

    /// The feeding that a topic may get, for sending now or for a probe.
    func feeding(of topic: Topic) -> TopicAccount.Feeding {
        guard let lanes = lanes(ofTopic: topic.index) else {
            // Nothing was sent for the topic here; another shard may know better.
            return topic.health.state == .works ? .all : .notifications(1)
        }
        switch lanes.sending {
        case .all: return .all
        case .suspending: return .nothing
        case .held: return .notifications(1)
        case .probing:
            if case .probing(.tokensDoubted, _, _) = topic.health.state {
                return .notifications(ShardLimits.probeSample)
            }
            return .notifications(1)
        }
    }

    private func fail(_ lanes: TopicLanes, _ reason: TopicHealth.Reason, now: MonotonicTime) {
        let random = settings.randomBits
        lanes.topic.health.change { $0.failed(reason, now: now, random: random()) }
    }
}
