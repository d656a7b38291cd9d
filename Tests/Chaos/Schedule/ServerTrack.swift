import Workbench

/// Outages of broker and Redis, one at a time, and slots of Redis that move in between.
///
/// After each round comes a long time without outages, in which a standby's takeover can be measured.
struct ServerTrack {
    /// In no order of time.
    private(set) var events: [ChaosSchedule.Event] = []
    /// Times at which all servers are there, milliseconds, in order.
    private(set) var gaps: [Range<Int>] = []

    private enum Turn {
        case broker
        case redis
        case failOver
    }

    /// The broker is away for longer than the session of a consumer lasts ([ours]: 6 s): the broker that is used
    /// forgets its groups when it stops, other than Kafka, and would hand partitions to a new owner while the old one
    /// still believes in its session. A consumer that has heard nothing for that long has given them up by itself.
    private static let brokerOutage = 7500...8000
    private static let redisOutage = 1000...8000
    /// In which what a master acknowledges does not reach its replica.
    private static let cut = 1000...2500
    /// From the kill of a master to its return: its replica has taken over by then.
    private static let promotion = 5000
    private static let betweenOutages = 6000...14_000
    private static let betweenOutagesOfShortRun = 6000...8000
    private static let shortRun = 60_000
    /// The gap after a round.
    static let longGap = 26_000
    private static let slotOpen = 2500
    private static let betweenSlots = 3000
    /// From the end of an outage to the first slot that moves: clients have to find the servers.
    private static let beforeSlots = 2000
    private static let afterSlots = 500

    /// - Parameter end: milliseconds.
    init(_ random: SeededGenerator, end: Int, redis: ChaosOptions.Redis) {
        var random = random
        let round: [Turn] = [.broker, redis == .single ? .redis : .failOver, .broker, .redis]
        let between = end < Self.shortRun ? Self.betweenOutagesOfShortRun : Self.betweenOutages
        var gapStart = 0
        var time = random.pick(2000...4000)
        for number in 0... {
            let outage = Self.outage(round[number % round.count], at: time, &random)
            guard let back = outage.last?.milliseconds, back <= end else { break }
            events += outage
            gaps.append(gapStart..<time)
            gapStart = back
            time = back + (number % round.count == round.count - 1 ? Self.longGap : random.pick(between))
        }
        gaps.append(gapStart..<end)
        if redis == .cluster { events += gaps.flatMap { Self.slots(in: $0, &random) } }
    }

    /// Times at which a server is away, milliseconds, in order.
    var outages: [Range<Int>] {
        zip(gaps, gaps.dropFirst()).map { $0.upperBound..<$1.lowerBound }
    }

    /// The gaps after a round.
    var longGaps: [Range<Int>] { gaps.filter { $0.count == Self.longGap } }

    /// From the first event to the last one a server is away.
    private static func outage(_ turn: Turn, at time: Int, _ random: inout SeededGenerator) -> [ChaosSchedule.Event] {
        switch turn {
        case .broker:
            return [.init(time, .stopBroker), .init(time + random.pick(brokerOutage), .startBroker)]
        case .redis:
            return [.init(time, .stopRedis), .init(time + random.pick(redisOutage), .startRedis)]
        case .failOver:
            let death = time + random.pick(cut)
            return [
                .init(time, .cutReplica(pick: random.pick(0...11))), .init(death, .killMaster),
                .init(death + promotion, .reviveMaster),
            ]
        }
    }

    /// The later in the gap, the more is applied again.
    private static func slots(in gap: Range<Int>, _ random: inout SeededGenerator) -> [ChaosSchedule.Event] {
        var events: [ChaosSchedule.Event] = []
        var close = gap.upperBound - afterSlots
        while close - slotOpen >= gap.lowerBound + beforeSlots {
            let open = ChaosAction.openSlot(pick: random.pick(0...11), target: random.pick(0...11))
            events += [.init(close - slotOpen, open), .init(close, .closeSlot)]
            close -= slotOpen + betweenSlots
        }
        return events
    }
}
