import PipelineCore
import RequestLanes

@testable import KafkaClient
@testable import Sender

/// Knows everything that happens in a world, and holds it against the pipeline's invariants at every step.
///
/// The first violation ends the world. What an invariant excepts is excepted here by its cause: bytes that were written
/// by a worker that has no right to the partition any more, or over a connection whose fate was given up.
final class Auditor {
    /// A rule that was broken.
    struct Violation: Error, Equatable, CustomStringConvertible {
        /// Number of the invariant in the design.
        var invariant: Int
        var rule: String

        var description: String { "invariant \(invariant): \(rule)" }
    }

    /// Facts that are known of a notification.
    struct Notification {
        var record: Int
        /// Ordinal of the token in the world.
        var token: Int
        var accepted = 0
        /// Its first outcome is stored.
        var outcomeAt: VirtualTime?
        /// The worker that gave the first outcome, and when.
        var outcomeBy = -1
        var decidedAt: VirtualTime = 0
        /// Its first outcome says that it arrived: that is what Redis remembers.
        var hasArrived = false
        /// A gateway refused it, or left it unanswered too often, and may accept it when it comes again.
        var wasRefused = false
        /// Times that the gateway ended a request of it without an answer.
        var unanswered = 0
        /// Skipped by an operator's hand, or lost by Kafka: it need not have an outcome.
        var isSkipped = false
        /// Most recent acceptance of it.
        var acceptedAt: VirtualTime?
    }

    /// Facts that are known of a token.
    struct Token {
        /// In Redis; nil while it lives.
        var deadSince: VirtualTime?
        var aliveSince: VirtualTime = 0
        /// The time at which its death was published; nil: it was not, or it lives.
        var publishedAt: VirtualTime?
        /// The time at which the gateway last refused it, or a worker last read that it had.
        var refusedAt: VirtualTime = 0
        /// The same, of refusals that name no time of its death; nil: there was none. One that does is judged by Redis.
        var calledInvalidAt: VirtualTime?
        /// The first of the latest refusals by a gateway that knows the token; nil: it does not, or never refused it.
        var wronglyRefusedAt: VirtualTime?
        /// Lanes in which order cannot be asked for: a counted exception met one of its notifications there.
        var exemptLanes: Set<RequestLane> = []
    }

    /// A token's notifications among which order holds. They are of one lane, and of one coalescing key or without one.
    struct Sequence {
        /// The notification accepted last, the newest one, and the one with the newest stamp.
        var last = -1
        var newest = -1
        var newestStamped = -1
    }

    /// The owner of a partition.
    struct Ownership {
        var member: Int
        var since: VirtualTime
        /// Position that was committed when the partition came: done already.
        var done: CommittedPosition?
        /// Position that was committed last since then.
        var last: CommittedPosition?
    }

    /// Commits and assignments of a member, as far as it knows them.
    struct Membership {
        /// The times at which the commits that are not answered were sent.
        var unanswered: [VirtualTime] = []
        var answeredAt: VirtualTime = 0
        /// The time at which it began with the partitions of its last assignment.
        var assignedAt: VirtualTime = 0
        /// It knows that it is no member any more, and was assigned nothing since.
        var isFenced = false
    }

    unowned let world: World
    private(set) var violation: Violation?
    /// The limits that it holds the pipeline to.
    var options: WorldPlan.Options
    var notifications: [Notification] = []
    /// Index of the first notification of each record.
    var firstOf: [Int] = []
    var tokens = Array(repeating: Token(), count: World.tokenCount)
    /// Of each token; see ``Auditor/sequence(of:)``.
    var sequences: [[Sequence]]
    /// Of each token and sequence, what was published.
    var published: [[Int]: [Int]] = [:]
    var owners: [Int32: Ownership] = [:]
    /// Everything below was found to be accounted for, by partition.
    var auditedEnd: [Int32: Int] = [:]
    /// The last fetch of a record: its time, and the worker.
    var fetches: [(member: Int, time: VirtualTime)?]
    /// The time of a record's first fetch.
    var firstFetches: [VirtualTime?]
    /// The last time at which a member fetched a record from the group, by record and member.
    var fetchTimes: [[Int]: VirtualTime] = [:]
    /// The first time of that since the member has had the record's partition. Of worlds with several lanes.
    var takenTimes: [[Int]: VirtualTime] = [:]
    /// The process of each worker, by their numbers.
    var processes: [Int: Int] = [:]
    /// By member.
    var memberships: [Int: Membership] = [:]
    /// Indices of bad tokens whose outcome is stored, by record.
    var badOutcomes: [Int: Set<Int>] = [:]
    /// Commits whose offset is held by a topic that the metadata has no room for.
    var heldCommits = 0
    /// Bytes of dead letters, and how many of each reason, by worker and record.
    var deadLetterBytes: [[Int]: Int] = [:]
    var deadLetters: [String: Int] = [:]
    /// By the number in the request id: the records that carry it.
    var requests: [Int: [Int]] = [:]
    /// By the number of the process.
    var connects: [Int: [VirtualTime]] = [:]
    /// Lanes and credentials that have asked for a connection before, kept so that no other takes their place in
    /// memory.
    var connectedLanes: [ObjectIdentifier: AnyObject] = [:]
    /// Connections that a worker lost to the content of a record, by both and the time of the assignment.
    var contentRefusals: [[Int]: Int] = [:]
    /// By lane or credential, which is kept, so that no other takes its place in memory.
    var failures: [ObjectIdentifier: (lane: AnyObject, time: VirtualTime)] = [:]
    /// Credentials of each process that have asked for a connection.
    var all: [Int: Int] = [:]
    /// Tokens with a request in flight over HTTP/2, by worker, as far as that knows.
    var requested: [Int: Set<Int>] = [:]
    /// The last acceptance of each process and topic.
    var acceptances: [Int: VirtualTime] = [:]
    /// Of tokens that are in order, by process and topic.
    var wrongTombstones: [Int: Int] = [:]
    /// Notifications that were rejected because of their topic, by process and topic.
    var topicRejections: [[Int]: Set<Int>] = [:]
    /// Bytes of the shards, by the number of the worker.
    var memory: [Int: Memory] = [:]
    /// Notifications of the largest record that there can be.
    let largestRecord: Int
    /// The words about each notification.
    var fates: [Int: Fates] = [:]
    /// Notifications that add to the numbers of their tokens, by token.
    var badgeNotifications: [Int: [Int]] = [:]
    /// Tokens and names of requests that leave the token's number alone.
    var plainRequests: Set<[Int]> = []
    /// Orders to discard, by topic and place of the lane.
    var discards: [[Int]: [AppControl.Discard]] = [:]
    var moves = Moves()
    var warmth = Warmth()
    /// Notifications without an outcome, but for those of records that were moved.
    var open = 0
    /// No notification before this one waits for its outcome.
    var waitingStart = 0

    init(world: World) {
        self.world = world
        options = world.plan.options
        let largest = world.plan.records.map { $0.tokens.count + $0.badTokens }.max() ?? 0
        largestRecord = max(World.tokensOfLargeKey, largest)
        let ofOne = Array(repeating: Sequence(), count: world.laneMap.lanes.count * (options.coalescingKeys + 1))
        sequences = Array(repeating: ofOne, count: World.tokenCount)
        fetches = Array(repeating: nil, count: world.plan.records.count)
        firstFetches = Array(repeating: nil, count: world.plan.records.count)
        for (record, entry) in world.plan.records.enumerated() {
            firstOf.append(notifications.count)
            if let request = entry.request { requests[request, default: []].append(record) }
            for token in entry.tokens {
                let ordinal = World.ordinal(topic: entry.topic, key: entry.key, token: token)
                notifications.append(Notification(record: record, token: ordinal))
                // An owner that cannot read a record leaves it to one that can, which finds newer ones sent.
                let isReadBySome =
                    options.hasDifferentOwners && (entry.form == .json || entry.form == .misplaced && options.isSpread)
                if entry.shift != 0 || isReadBySome { tokens[ordinal].exemptLanes.insert(entry.lane) }
            }
        }
        open = notifications.count
    }

    /// A rule is switched on.
    func holds(_ rule: Checks) -> Bool { world.plan.checks.contains(rule) }

    var now: VirtualTime { world.clock.now }

    func check(_ condition: Bool, _ invariant: Int, _ rule: @autoclosure () -> String) {
        guard !condition, violation == nil else { return }
        violation = Violation(invariant: invariant, rule: rule())
    }

    /// The notification of a record to a token.
    func number(record: Int, token: Int) -> Int? {
        (firstOf[record]..<end(of: record)).first { notifications[$0].token == token }
    }

    func end(of record: Int) -> Int {
        record + 1 < firstOf.count ? firstOf[record + 1] : notifications.count
    }

    func name(_ number: Int) -> String {
        let entry = notifications[number]
        return "record \(entry.record), token \(entry.token)"
    }
}
