import PipelineCore

/// Everything about a world that the seed decides beforehand. A plan can be cut down, to see what of it a failure needs.
struct WorldPlan: Sendable, Equatable {
    var seed: UInt64
    var options: Options
    /// Ascending by time.
    var records: [Record]
    var faults: [Fault]

    /// How a world is made and set up.
    struct Options: Sendable, Equatable {
        var workers = 2
        var partitions = 2
        var lanes = 2
        var isCooperative = false
        /// Workers come back under the name that the group knows, within the session time-out.
        var isStatic = false
        var policy = UnknownFatePolicy.resend
        /// Success is published too; else it can be told from the gateway only.
        var publishesAll = true
        var window = VirtualTime.seconds(1)
        var maxUncommitted = 100
        var inFlight = 100
        var connectionsPerMinute = 60
        var connectionMaxAge: VirtualTime = 0
        var batch = 64
        /// Most bytes of metadata in a commit.
        var metadataBytes = 4096
        /// Acknowledged bytes are told.
        var tellsAcknowledgements = true
        /// Bytes of our kernel's and the channel's buffers.
        var buffer = 16_384
        /// Invalid tokens, of a hundred.
        var invalidTokens = 2
        /// Coalescing keys in use; 0: none.
        var coalescingKeys = 0
        /// Answers are never withheld for longer than the window, nor reads.
        var isPunctual = true
    }

    /// One record of push.requests.
    struct Record: Sendable, Equatable {
        var time: VirtualTime
        var topic: Int
        /// Of the topic's keys.
        var key: Int
        /// Ordinals of tokens of that topic and key.
        var tokens: [Int]
        /// 0: none.
        var coalescingKey = 0
        /// How much older it says it is than it is.
        var backdated: VirtualTime = 0
    }

    static let topics = 3
    static let keysPerTopic = 2
    static let tokensPerKey = 24
    static let notifications = 500

    init(seed: UInt64) {
        self.seed = seed
        var dice = Dice(seed: seed)
        let options = Options(&dice)
        self.options = options
        records = Self.records(&dice, coalescingKeys: options.coalescingKeys)
        let end = records.last?.time ?? 0
        faults = (0..<dice.pick(5...10)).map { _ in Fault(&dice, within: end, options) }.sorted { $0.time < $1.time }
    }

    var notificationCount: Int { records.reduce(0) { $0 + $1.tokens.count } }

    private static func records(_ dice: inout Dice, coalescingKeys: Int) -> [Record] {
        var records: [Record] = []
        var count = 0
        var time: VirtualTime = .milliseconds(100)
        // Bursts and pauses.
        while count < notifications {
            time += dice.chance(10) ? dice.time(100...900) : dice.time(1...40)
            let key = dice.pick(0...keysPerTopic - 1)
            var tokens: Set<Int> = []
            for _ in 0..<(dice.chance(80) ? dice.pick(1...4) : dice.pick(5...12)) {
                tokens.insert(dice.pick(0...tokensPerKey - 1))
            }
            var record = Record(time: time, topic: dice.pick(0...topics - 1), key: key, tokens: tokens.sorted())
            if coalescingKeys > 0, dice.chance(50) {
                record.coalescingKey = dice.pick(1...coalescingKeys)
                record.backdated = dice.chance(20) ? dice.time(1...300) : 0
            }
            records.append(record)
            count += tokens.count
        }
        return records
    }
}

extension WorldPlan.Options {
    fileprivate init(_ dice: inout Dice) {
        workers = dice.pick(2...3)
        partitions = dice.pick(2...3)
        lanes = dice.pick(1...2)
        isCooperative = dice.chance(40)
        isStatic = dice.chance(30)
        policy = dice.chance(80) ? .resend : dice.chance(50) ? .presume : .giveUp
        publishesAll = dice.chance(75)
        window = dice.time(300...1500)
        maxUncommitted = dice.pick(20...300)
        inFlight = dice.chance(30) ? dice.pick(1...20) : dice.pick(20...300)
        connectionsPerMinute = dice.pick(20...120)
        connectionMaxAge = dice.chance(25) ? dice.time(1000...5000) : 0
        batch = dice.pick(4...128)
        tellsAcknowledgements = dice.chance(85)
        buffer = dice.chance(40) ? dice.pick(600...4000) : dice.pick(4000...65_536)
        invalidTokens = dice.chance(30) ? 0 : dice.pick(1...8)
        // Without acknowledgements silence counts while bytes may still lie here.
        isPunctual = dice.chance(85) && tellsAcknowledgements
        coalescingKeys = dice.chance(40) ? dice.pick(1...2) : 0
        // Little room for what is done beyond a position.
        metadataBytes = dice.chance(50) ? dice.pick(200...500) : 4096
    }
}
