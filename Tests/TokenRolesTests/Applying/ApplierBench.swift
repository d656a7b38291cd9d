import KafkaClient
import NIOCore
import NIOEmbedded
import PushSchemas
import PushTopics
import RedisClient

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

/// A ``RecordApplier`` on an embedded event loop, between a scripted group, broker and Redis. The test ends it.
final class ApplierBench {
    let eventLoop = EmbeddedEventLoop()
    static let source = "push.registrations"

    let member: SimulatedMember
    let producer = CollectingProducer()
    let redis: SimulatedRedis
    /// The refusals of changes of single tokens.
    var errors: [String: RedisError] = [:]
    /// Changes of these tokens are not answered in time.
    var silent: Set<String> = []
    /// The facts with which changes of single tokens are answered, one after the other, before they are made.
    var facts: [String: [TokenFacts]] = [:]
    let lines = LogLines()
    let applier: RecordApplier
    let masters: ScriptedMasters?
    let clock: ClockCheck?

    /// - Parameters:
    ///   - histories: the replication IDs of masters after whose fail-over records are applied again; none: nothing is.
    ///   - wallClock: the host's clock, which is compared with that of Redis; nil: it is not.
    ///   - kind: the change that a record means, by its value, the name of the token; by default it registers.
    init(
        histories: [RedisAddress: String?] = [:],
        wallClock: WallClock? = nil,
        _ kind: @escaping (String) -> TokenChange.Kind = { _ in .register(at: 1, TokenTexts()) }
    ) {
        let masters = histories.isEmpty ? nil : ScriptedMasters(histories, on: eventLoop)
        self.masters = masters
        member = SimulatedMember(on: eventLoop, topic: Self.source)
        redis = SimulatedRedis(on: eventLoop)
        clock = wallClock.map { [redis, eventLoop, lines] in
            $0.check(redis, on: eventLoop, lines)
        }
        applier = RecordApplier(
            eventLoop: eventLoop,
            clients: .init(consumer: member, producer: producer, redis: redis, layout: TokenStore.layout, clock: clock),
            source: Self.source,
            names: TopicNames(),
            batchLimit: 100,
            logger: lines.logger,
            replay: masters.map { [lines] masters in
                RecordReplay(
                    redis: masters,
                    window: .seconds(600),
                    topic: Self.source,
                    logger: lines.logger,
                    now: { masters.now }
                )
            }
        ) { message throws(RecordRefusal) in
            [.of(Array(message.value), kind(String(decoding: message.value, as: UTF8.self)))]
        }
        member.onAssigned = { [unowned self] in applier.assign($0) }
        member.onRevoked = { [unowned self] in applier.revoke($0, lost: $1) }
        member.onReadable = { [unowned self] in applier.turn() }
        producer.onDelivery = { [unowned self] in applier.delivered($0, error: nil) }
        redis.fate = { [unowned self] in $0.token.map(fate) ?? .runs }
        applier.start()
    }

    private func fate(of token: String) -> SimulatedRedis.Fate {
        if silent.contains(token) { return .timedOut }
        if let error = errors[token] { return .failed(error) }
        guard let next = facts[token]?.first else { return .runs }
        facts[token]?.removeFirst()
        let times = [Int64(next.registeredAt), Int64(next.tombstonedAt)]
        return .answered(.integers(times + [Int64(next.reason.rawValue), next.wasRevived ? 1 : 0, 1]))
    }

    /// A dead letter.
    struct Letter: Equatable {
        var value: String
        var reason: String
        var detail: String
    }

    var letters: [Letter] {
        producer.records(of: "push.dead-letters").map {
            Letter(
                value: String(decoding: $0.value, as: UTF8.self),
                reason: $0.header("reason") ?? "",
                detail: $0.header("detail") ?? ""
            )
        }
    }

    /// The values of tombstones.
    var tombstones: [[UInt8]] { producer.records(of: "push.tombstones").map(\.value) }

    /// The group's offsets by partition, as the broker has them.
    var committed: [Int32: Int64] {
        get { Self.offsets(Array(member.committed.values)) }
        set {
            for (place, offset) in newValue.map({ (member.place($0), $1) }) {
                member.committed[place] = KafkaPartitionOffset(place, offset: offset)
            }
        }
    }

    /// The offsets of each commit, by partition.
    var commits: [[Int32: Int64]] { member.commits.map(Self.offsets) }

    /// The starts in each answer to an assignment, by partition.
    var answers: [[Int32: Int64]] { member.answers.map(Self.offsets) }

    var paused: Set<Int32> { Set(member.paused.map(\.partition)) }

    private static func offsets(_ positions: [KafkaPartitionOffset]) -> [Int32: Int64] {
        Dictionary(uniqueKeysWithValues: positions.map { ($0.partition, $0.offset) })
    }

    /// The tokens that were changed, in order.
    var changed: [String] { redis.answered.compactMap(\.token) }

    /// Changes that were asked for.
    var calls: Int { redis.calls }

    /// Lets time pass; a moment is enough for everything that waits for no answer.
    func pass(_ time: TimeAmount = .milliseconds(10)) { eventLoop.advanceTime(by: time) }

    /// Gives partition 0 with one record, "a", to an applier whose Redis is away: the batch stays in hand.
    ///
    /// - Parameter time: passes then.
    func holdBatch(for time: TimeAmount = .milliseconds(10)) {
        redis.isAway = true
        member.publish("a")
        member.give(0)
        pass(time)
    }

    /// Stops the applier, and leaves nothing on its event loop.
    func end() {
        redis.isAway = false
        silent = []
        errors = [:]
        producer.isSilent = false
        _ = applier.stop()
        pass(.minutes(1))
    }
}

extension SimulatedRedis {
    /// Scripts that were asked for.
    var calls: Int { sent.count { $0.script != nil } }
}

extension WrittenCommand {
    /// The token that a script is called for; nil: none is called.
    var token: String? {
        // Directory, bucket, number of buckets, the token's hash and the token, …
        script.map { _ in String(decoding: words[3].dropFirst(TokenPlace.hashBytes), as: UTF8.self) }
    }
}

/// The clock of a host, which a test sets.
final class WallClock {
    var unixMilliseconds: Int64

    init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    /// Compares it with that of Redis.
    func check(_ redis: SimulatedRedis, on eventLoop: EmbeddedEventLoop, _ lines: LogLines) -> ClockCheck {
        ClockCheck(redis: redis, eventLoop: eventLoop, logger: lines.logger) { self.unixMilliseconds }
    }
}
