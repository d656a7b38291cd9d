import PipelineCore
import RequestLanes

/// Topics whose connections are open before anything is to be sent.
extension WorldPlan {
    /// Most requests of the topic that comes late.
    private static let lateRequests = 8
    /// The time between its troubles and its first request, in which all attempts to connect come to their end.
    private static let lateCalm = VirtualTime.milliseconds(1500)

    /// Some topics are kept warm, and one more that is at rest for long.
    mutating func chooseWarmth(_ dice: inout Dice) {
        guard options.requestLanes.contains(.urgent) else { return }
        options.warm = (0..<options.topics).filter { _ in dice.chance(40) }
        addLateTopic(&dice)
        if options.isCalm {
            // Its attempts must not take the connections of notifications.
            options.connectionsPerMinute = 120
        } else if dice.chance(40) {
            options.idleTimeout = dice.time(5000...30_000)
        }
    }

    /// A topic that has nothing to send while its gateway has troubles, and a few urgent requests after that.
    mutating func addLateTopic(_ dice: inout Dice) {
        guard options.topics < Self.mostTopics else { return }
        let topic = options.topics
        options.topics += 1
        options.warm.append(topic)
        options.lateTopic = topic
        if !options.streams.isEmpty, dice.chance(50) { options.streams.append(topic) }
        let first = dice.time(6000...15_000)
        var time = first
        for _ in 0..<dice.pick(2...Self.lateRequests) {
            let key = dice.pick(0...Self.keysPerTopic - 1)
            var record = Record(time: time, topic: topic, key: key, tokens: [dice.pick(0...Self.tokensPerKey - 1)])
            record.lane = .urgent
            records.append(record)
            time += dice.time(50...2000)
        }
        records = records.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
        for _ in 0..<dice.pick(1...3) { trouble(topic, before: first - Self.lateCalm, &dice) }
    }

    /// The gateway of a topic ends its connections, or takes none for a time.
    private mutating func trouble(_ topic: Int, before end: VirtualTime, _ dice: inout Dice) {
        let time = dice.time(1000...3500)
        let most = Int((end - time) / .milliseconds(1))
        let lasting = dice.time(100...most)
        switch dice.pick(0...3) {
        case 0: faults.append(Fault(.certificateRefused, at: time, lasting: lasting, topic: topic))
        case 1: faults.append(Fault(.gatewayUnreachable, at: time, lasting: lasting, topic: topic))
        case 2: faults.append(Fault(.shutdown, at: time, topic: topic))
        default: break
        }
        // New connections are asked for, and meet the trouble.
        faults.append(Fault(.cut, at: time + .milliseconds(1), topic: topic))
    }
}
