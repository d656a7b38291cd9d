import APNsProtocol
import PipelineCore
import PushSchemas
import RequestLanes

/// Everything about a world that the seed decides beforehand. A plan can be cut down, to see what of it a failure
/// needs.
struct WorldPlan: Sendable, Equatable {
    var seed: UInt64
    var options: Options
    /// Ascending by time.
    var records: [Record]
    var faults: [Fault]
    var checks: Checks

    /// The make and the settings of a world.
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
        /// The longest stretch that a take-over rereads; nil: by default, which is all of it.
        var near: Near?
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
        /// Topics with gateways; 3...12.
        var topics = WorldPlan.plainTopics
        /// Sicknesses that never end.
        var sick: [Sickness] = []
        /// Nothing but sickness goes wrong, so that the healthy topics' times are bounded.
        var isIsolated = false
        /// Bytes that the peer's kernel acknowledges before the gateway reads them; 0: they are acknowledged when read.
        var receiveBuffer = 0
        /// Longest time for which a blocking call to the broker holds the event loop.
        var blockingCalls: VirtualTime = 0
        /// Bundles are spread over two keys, and tokens belong to one of them.
        var isSpread = false
        /// Sending goes on while Redis is away.
        var sendsWithoutRedis = false
        /// 0: requests are not remembered.
        var dedupeWindow: VirtualTime = 0
        /// 0: no window.
        var coalescingWindow: VirtualTime = 0
        /// Poison and broken keys of Redis are not mended at the end.
        var isForGood = false
        /// Most bytes that a shard may hold, and twice those of a topic; 0: as many as by default.
        var memoryBytes = 0
        /// Longest lag of the filters of dead tokens; 0: there are none.
        var filterMaxAge: VirtualTime = 0
        /// Times without a certificate. With any, the real rule for such bundles is driven.
        var certificateGaps: [CertificateGap] = []
        /// Time for which a bundle without a certificate is waited for.
        var certificateGrace = VirtualTime.seconds(3)
        /// Bundles with such a gap have registered tokens.
        var hasRegistrations = false
        /// Topics over HTTP/2, ascending; the others speak the binary protocol. With any there are two environments.
        var streams: [Int] = []
        /// Topics among them that share a provider key, and so connections; the others have certificates.
        var keyed: [Int] = []
        /// Longest wait for the answer to a request over HTTP/2.
        var requestTimeout = VirtualTime.seconds(10)
        /// Some records add to the numbers of their tokens.
        var hasBadges = false
        /// Each life of a worker may have traits of its own.
        var hasDifferentOwners = false
        /// Most messages that a producer has under way.
        var producerRoom = 400
        /// Work on publications in one turn of a shard.
        var publicationUnits = 1024
        /// Most bytes of an outcome or dead letter that the brokers take; 0: any.
        var largestPublication = 0
        /// Answers to commits come apart from what else the group's consumer has.
        var answersApart = false
        /// Most streams that a connection may have open, while nothing is wrong.
        var mostStreams = 100
        /// The lanes of requests, ascending. Each is a Kafka topic with a group of its own.
        var requestLanes = [RequestLane.normal]
        /// The lanes that each worker serves, ascending; with more workers they begin anew.
        var servedLanes = [[RequestLane.normal]]
        /// Tokens a minute that stay urgent in each shard, by topic; of the others all do.
        var quotas: [Int: Int] = [:]
        /// Some lives of workers know no quotas.
        var changesQuotas = false
        /// Topics whose connections in the urgent lane are kept open, ascending.
        var warm: [Int] = []
        /// The one of them that has nothing but a few urgent requests, late; nil: there is none.
        var lateTopic: Int?
        /// Time after which a connection that is not used is closed; 0: the default, longer than a world.
        var idleTimeout: VirtualTime = 0
        /// Nothing troubles an app or holds urgent requests up, so that their times are bounded.
        var isCalm = false
    }

    /// Records and bytes of a near stretch.
    struct Near: Sendable, Equatable {
        var records: Int64
        var bytes: Int
    }

    /// A time in which the directory of certificates has none for a topic.
    struct CertificateGap: Sendable, Equatable {
        var topic: Int
        var from: VirtualTime
        var lasting: VirtualTime

        func contains(_ time: VirtualTime) -> Bool { from <= time && (isForGood || time < from + lasting) }

        /// It never comes.
        var isForGood: Bool { lasting == .max }
    }

    /// A topic that stops working at a time and never works again.
    struct Sickness: Sendable, Equatable {
        enum Kind: Sendable {
            case certificateRefused, unreachable, halfDead, everythingInvalid, slow
            /// The gateway closes without a word on many of its notifications.
            case poisoned
            /// One token of five is invalid.
            case someInvalid
            /// Records with many tokens that cannot be sent to.
            case badTokens
            case certificateMissing

            /// Kinds of the feature `sick`.
            static let first = [certificateRefused, unreachable, halfDead, everythingInvalid, slow]
            /// Kinds of the feature `other-sicknesses`.
            static let later = [poisoned, someInvalid, badTokens, certificateMissing]

            /// Its notifications come to an end all the same, each with its outcome.
            var settles: Bool { self == .someInvalid || self == .badTokens }
        }

        var topic: Int
        var kind: Kind
        var from: VirtualTime
    }

    /// The form in which a record is written.
    enum Form: Sendable, Equatable {
        case protobuf, json
        /// Counts as one notification.
        case undecodable
        /// Of a bundle that has no certificate.
        case withoutCertificate
        /// With more headers than are allowed; counts as one notification.
        case overheaded
        /// Under the other key of a bundle that is spread.
        case misplaced
    }

    /// One record of a lane.
    struct Record: Sendable, Equatable {
        var time: VirtualTime
        var topic: Int
        /// Of the topic's keys.
        var key: Int
        /// Ordinals of tokens of that topic and key.
        var tokens: [Int]
        /// 0: none.
        var coalescingKey = 0
        /// Time by which the record says it is older than it is.
        var backdated: VirtualTime = 0
        var form = Form.protobuf
        /// Of its tokens, those on whose notifications the gateway closes without a word.
        var poison: [Int] = []
        /// The status with which the gateway refuses its content to every token; nil: it does not.
        var refusal: APNsStatus?
        /// Tokens behind the others that nothing can be sent to.
        var badTokens = 0
        /// The record expires so long after it was published; 0: never.
        var expires: VirtualTime = 0
        /// Number of a request that is published twice; nil: it is not.
        var request: Int?
        /// The outcomes that its publisher asks for; nil: as the worker is set.
        var report: RequestReport?
        /// Partitions away from where its key belongs.
        var shift = 0
        /// The lane that it is published in.
        var lane = RequestLane.normal
        /// The move by which a worker has made it; nil: its publisher has. Of no record of a plan.
        var moved: Move?
        /// It adds one to the number of each token.
        var addsToBadge = false
        /// Bytes of its trace header; 0: it has none.
        var headerBytes = 0

        /// The urgent record that a worker moved, and the time since the world's beginning.
        struct Move: Sendable, Equatable {
            var from: Int
            var time: VirtualTime
        }

        /// The sender looks at nothing of it, and it belongs to no topic.
        var isRefused: Bool { form == .undecodable || form == .overheaded }
    }

    static let plainTopics = 3
    static let mostTopics = 12
    static let keysPerTopic = 2
    static let tokensPerKey = 24
    static let notifications = 500

    /// - Parameters:
    ///   - features: what the seed chooses from; none: a plain world.
    ///   - checks: the auditor's rules.
    ///   - isOverStreams: every topic goes over HTTP/2, whatever the seed would choose.
    init(
        seed: UInt64,
        features: Features = .current,
        checks: Checks = .current,
        isOverStreams: Bool = false
    ) {
        self.seed = seed
        self.checks = checks
        var dice = Dice(seed: seed)
        let options = Options(&dice)
        self.options = options
        records = Self.records(&dice, coalescingKeys: options.coalescingKeys)
        let end = records.last?.time ?? 0
        faults = (0..<dice.pick(5...10)).map { _ in Fault(&dice, within: end, options) }.sorted { $0.time < $1.time }
        widen(features)
        if isOverStreams { goOverStreams() }
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
            var record = Record(time: time, topic: dice.pick(0...plainTopics - 1), key: key, tokens: tokens.sorted())
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
