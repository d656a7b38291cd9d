/// Something that goes wrong in a world of appliers at a time, for a time.
struct ApplyingFault: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// Redis answers no client.
        case redisAway
        /// One of Redis' masters answers no client.
        case redisSilent(master: Int)
        /// Redis refuses every change, with this first word.
        case redisRefuses(String)
        /// A replica of a master takes over that lacks what was acknowledged in so long a time before.
        case redisFailOver(master: Int, losing: VirtualTime)
        /// A process' connections to Redis are lost.
        case redisCut(slot: Int)
        /// The broker answers no client.
        case brokerAway
        /// Commits are lost, or the answers to them.
        case commitsLost
        /// The group of a Kafka topic rebalances.
        case rebalance(ApplyingSource)
        /// The oldest records of a partition are deleted, read or not: so many of a thousand.
        case retention(ApplyingSource, Int32, share: Int)
        /// An operator sets a group's position beyond any end that the log will have.
        case beyondEnd(ApplyingSource, Int32)
        /// A process gets no processor time.
        case holdUp(slot: Int)
        /// Kill -9; nil: the process does not come back.
        case kill(slot: Int, backAfter: VirtualTime?)
        /// SIGTERM; nil: the process does not come back.
        case stop(slot: Int, backAfter: VirtualTime?)
    }

    var time: VirtualTime
    var lasting: VirtualTime
    var kind: Kind

    /// Faults begin before this time of the world.
    private static let last = 90_000
    private static let longestSeconds = 60
    private static let longestHoldSeconds = 20
    private static let longestSilenceSeconds = 120
    /// Longest time from SIGTERM to the end: the process may stand still, and waits for batch and commit.
    private static let longestStop = VirtualTime.seconds(40)
    /// Milliseconds.
    private static let longestLoss = 3000
    /// A fail-over is noticed within this time.
    private static let noticing = VirtualTime.seconds(10)
    private static let refusals = ["OOM", "NOPERM", "LOADING", "READONLY", "MISCONF"]

    init(_ options: ApplyingPlan.Options, _ dice: inout Dice) {
        time = dice.time(1000...Self.last)
        let seconds = dice.pick(1...Self.longestSeconds)
        lasting = .seconds(seconds)
        let slot = dice.pick(0...options.processes - 1)
        let source = options.sources[dice.pick(0...options.sources.count - 1)]
        let partition = Int32(dice.pick(0...Int(options.partitions) - 1))
        // The first process of each kind comes back, so that a process is there in the end.
        let isNeeded = ApplyingSource.allCases.contains { options.slots(of: $0).first == slot }
        let backAfter = isNeeded || dice.chance(60) ? dice.time(100...20_000) : nil
        switch dice.pick(0...12) {
        case 0: kind = .redisAway
        case 1: kind = .redisRefuses(Self.refusals[dice.pick(0...Self.refusals.count - 1)])
        case 2: kind = .redisCut(slot: slot)
        case 3: kind = .brokerAway
        case 4: kind = .commitsLost
        case 5: kind = .rebalance(source)
        case 6 where source != .tombstones: kind = .retention(source, partition, share: dice.pick(0...1000))
        // push.tombstones is compacted, so that age deletes nothing of it.
        case 6: kind = .rebalance(source)
        case 7: kind = .beyondEnd(source, partition)
        case 8:
            kind = .holdUp(slot: slot)
            lasting = .seconds(min(seconds, Self.longestHoldSeconds))
        case 9...10: kind = .kill(slot: slot, backAfter: backAfter)
        case 11 where options.replays:
            kind = .redisFailOver(master: slot % ApplyingRedis.masters, losing: dice.time(0...Self.longestLoss))
        case 11: kind = .redisCut(slot: slot)
        default: kind = .stop(slot: slot, backAfter: backAfter)
        }
    }

    /// A master of Redis falls silent, early enough that processes start meanwhile.
    init(silenceIn dice: inout Dice) {
        time = dice.time(0...Self.last / 2)
        lasting = .seconds(dice.pick(1...Self.longestSilenceSeconds))
        kind = .redisSilent(master: dice.pick(0...ApplyingRedis.masters - 1))
    }

    /// From this time of the world on nothing is wrong because of it, but what is to be made good.
    var end: VirtualTime {
        switch kind {
        case .redisCut, .rebalance, .retention, .beyondEnd: time
        case .redisFailOver: time + Self.noticing
        case .redisAway, .redisSilent, .redisRefuses, .brokerAway, .commitsLost: time + lasting
        case .holdUp: time + lasting + ApplyingGroup.sessionTimeout
        case .kill(_, let backAfter): time + ApplyingGroup.sessionTimeout + (backAfter ?? 0)
        case .stop(_, let backAfter):
            time + Self.longestStop + ApplyingGroup.sessionTimeout + (backAfter ?? 0)
        }
    }
}
