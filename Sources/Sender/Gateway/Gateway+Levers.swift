import PipelineCore

/// Topics that an operator holds back.
extension Gateway {
    /// Takes back all notifications of a topic that no connection has taken, to be fed anew under its levers. Those in
    /// flight settle.
    func recall(_ topic: Topic) {
        let lanes = lanes(of: topic)
        lanes.isRecalled = true
        holdBack(lanes)
    }

    /// Lets the lanes of a topic that is made while it is paused send nothing.
    func holdBackIfPaused(_ lanes: TopicLanes) {
        if lanes.topic.control.isPaused { holdBack(lanes) }
    }

    private func holdBack(_ lanes: TopicLanes) {
        if lanes.sending == .all { lanes.isHeldBack = true }
        // Records that wait for a probe are given up as well. A probe in flight settles first.
        if lanes.sending != .probing { lanes.sending = .suspending }
        lanes.transport.suspend()
    }

    /// Keeps a topic from sending that is paused, or whose notifications are recalled.
    func tendHeldBack(_ lanes: TopicLanes, _ state: TopicHealth.State) -> Event? {
        lanes.transport.suspend()
        if case .probing(_, shard, _) = state {
            guard lanes.transport.inFlightCount == 0 else { return nil }
            let (now, random) = (now, settings.randomBits)
            lanes.topic.health.change { $0.leaveProbe(shard: shard, now: now, random: random()) }
        }
        if lanes.sending == .probing { lanes.sending = .suspending }
        guard lanes.sending == .suspending, lanes.transport.isQuiet else { return nil }
        return .topicIsQuiet(lanes.topic)
    }

    func isRecalled(_ topic: Topic) -> Bool { lanes(ofTopic: topic.index)?.isRecalled ?? false }

    /// Unsent notifications of the topic are being given up: it is fed nothing until then.
    func isSuspending(_ topic: Topic) -> Bool {
        lanes(ofTopic: topic.index)?.sending == .suspending
    }
}
