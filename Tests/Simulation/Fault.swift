import APNsProtocol
import RequestLanes

/// Something that goes wrong at a time, for a time.
struct Fault: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// Kill -9; it is started again after `lasting`.
        case crash
        /// SIGTERM; started again after `lasting`.
        case stop
        /// The process gets no processor time.
        case holdUp
        /// The process's host is suspended: its monotonic clock stands still as well.
        case suspension
        /// The commits of a partition expire while no worker runs; an operator sets its offset where it was after the
        /// time.
        case commitsExpire
        /// The clock of Redis' host is set.
        case redisClockJump(seconds: Int)
        /// A worker more, for `lasting`; then it is stopped.
        case scale
        /// The broker answers no client.
        case brokerAway
        /// A worker's commits are lost, or the answers to them.
        case commitsLost(isApplied: Bool)
        /// A worker does not reach the group, and is thrown out if it lasts; it can reach everything else.
        case groupUnreachable
        /// Some member makes the group rebalance.
        case rebalance
        /// A worker's producer breaks and is replaced: what it has under way is reported as failed.
        case producerBroken
        /// Acknowledgements of what is published come late.
        case acknowledgementsLate
        case redisAway
        /// A worker's connection to Redis hangs until commands time out.
        case redisHangs
        /// All connections of a worker to a topic's gateway are cut.
        case cut
        /// No worker reaches the topic's gateway any more; open connections stay.
        case gatewayUnreachable
        /// Connections of the topic are not read from.
        case stall
        /// The gateway sends status 10 on all connections of the topic.
        case shutdown
        /// The next notification of the topic that is read is refused with a status that its token has no part in.
        case refusal(APNsStatus, names: Bool)
        /// The topic's certificate is refused.
        case certificateRefused
        /// Sentinels of the topic are not answered.
        case sentinelsUnanswered
        /// The topic's gateway calls every token invalid.
        case everythingInvalid
        /// Answers of the topic take longer, up to the window.
        case answersLate
        /// A worker's wall clock jumps.
        case clockJump(seconds: Int)
        /// The topic's connections, and those that are opened meanwhile, lead into the void for good.
        case halfDead
        /// The gateway says goodbye on all connections of the topic, and ends their streams later.
        case farewell
        /// The topic's gateway reads so many bytes a second.
        case slow(bytesPerSecond: Int)
        /// A worker's commits are answered late.
        case commitsLate
        /// A worker's commits arrive when the time is over, in the generation in which they were made. They are on the
        /// wire meanwhile, or in the client, which does not reach the group.
        case commitsDeferred(isInClient: Bool)
        /// A worker's commits are not answered for a minute.
        case commitsUnanswered(isApplied: Bool)
        /// A worker's commits fail at once.
        case commitsThrow
        /// A worker's next assignment cannot be completed.
        case assignmentFails
        /// The oldest records of a partition are deleted: so many of a hundred.
        case retention(percent: Int)
        /// A leader is elected that lacks the last records of a partition, which publishers go on to fill. It answers
        /// workers when the time is over, or some before. Their clients know leaders' epochs, or do not.
        case logCut(records: Int, hasEpochs: Bool)
        /// An operator stops all workers and sets a partition's position, so many records on, without metadata.
        case offsetsSet(by: Int)
        /// Metadata that no worker can read stands at a partition's position, and is removed by hand after the time.
        case unknownMetadata
        /// Apps register tokens that were refused.
        case registrations
        /// A worker's reader of push.tombstones gets no answer.
        case tombstonesAway
        /// The value under a token's bucket in Redis is of another type.
        case redisBroken(token: Int)
        /// The topic's connections over HTTP/2 allow so many streams for a time, and refuse those beyond.
        case streamLimit(Int)
        /// Streams of the topic are refused.
        case streamsRefused
        /// Streams of the topic are reset, read or unread.
        case streamsReset
        /// Requests of the topic are not answered, though pings are.
        case mute
        /// Of a hundred requests of the topic so many are answered with status 500 or 503.
        case serviceTrouble(percent: Int)
        /// Requests to some tokens of the topic are answered with status 429.
        case tooManyRequests
        /// Each request of the topic is answered with TopicDisallowed.
        case topicDisallowed
        /// GOAWAY with an error on all connections of the topic.
        case goAwayWithError
        /// The topic's certificate, or its gateways' authorities, are replaced. The new certificate is refused for the
        /// time.
        case certificateReplaced
        /// The brokers refuse one of the Kafka topics that workers publish to: it is unknown, or the right is missing.
        case publishingRefused(isUnknown: Bool)
        /// An operator pauses the topic.
        case paused
        /// An operator gives the topic a pace.
        case paced(perSecond: UInt32)
        /// An operator discards what was published of the topic, but for the last so many milliseconds.
        case discarded(age: Int64)
    }

    var time: VirtualTime
    var lasting: VirtualTime
    var kind: Kind
    /// The worker and the topic that it meets, modulo their number.
    var worker: Int
    var topic: Int
    /// The lane that the levers of the topic are pulled in; nil: they name none.
    var lane: RequestLane?

    init(
        _ kind: Kind,
        at time: VirtualTime,
        lasting: VirtualTime = 0,
        worker: Int = 0,
        topic: Int = 0,
        lane: RequestLane? = nil
    ) {
        self.kind = kind
        self.time = time
        self.lasting = lasting
        self.worker = worker
        self.topic = topic
        self.lane = lane
    }

    init(_ dice: inout Dice, within end: VirtualTime, _ options: WorldPlan.Options) {
        time = .milliseconds(300) + VirtualTime(dice.pick(0...Int(end / 1000))) * 1000
        worker = dice.pick(0...7)
        topic = dice.pick(0...WorldPlan.plainTopics - 1)
        (kind, lasting) = Self.choose(&dice, options)
    }

    private static func choose(_ dice: inout Dice, _ options: WorldPlan.Options) -> (Kind, VirtualTime) {
        switch dice.pick(0...29) {
        case 0, 1, 2: (.crash, dice.time(50...8000))
        case 3, 4: (.stop, dice.time(50...3000))
        case 5: (.holdUp, dice.time(100...(options.isPunctual ? 4000 : 9000)))
        case 6: (.scale, dice.time(1000...6000))
        case 7: (.brokerAway, dice.time(200...5000))
        case 8: (.commitsLost(isApplied: dice.chance(50)), dice.time(500...4000))
        case 9: (.groupUnreachable, dice.time(1000...9000))
        case 10, 11: (.rebalance, 0)
        case 12: (.producerBroken, 0)
        case 13: (.acknowledgementsLate, dice.time(500...4000))
        case 14: (.redisAway, dice.time(200...7000))
        case 15: (.redisHangs, dice.time(200...7000))
        case 16, 17, 18: (.cut, 0)
        case 19: (.gatewayUnreachable, dice.time(200...6000))
        case 20: (.stall, dice.time(100...6000))
        case 21, 22: (.shutdown, 0)
        case 23, 24: (.refusal(statuses[dice.pick(0...statuses.count - 1)], names: dice.chance(60)), 0)
        case 25: (.certificateRefused, dice.time(200...3000))
        case 26: (.sentinelsUnanswered, dice.time(1000...8000))
        case 27: (.everythingInvalid, dice.time(200...3000))
        case 28: (.answersLate, dice.time(500...5000))
        default: (.clockJump(seconds: dice.pick(-100...100)), 0)
        }
    }

    private static let statuses: [APNsStatus] = [
        .processingError, .invalidPayloadSize, .missingTopic, .unknown, .protocolError, .noErrors, .invalidTopicSize,
    ]
}
