import KafkaClient
import NIOCore
import NIOEmbedded
import PortTestSupport
import PushSchemas
import PushTopics
import RedisClient
import TokenState

@testable import PipelineTestSupport
@testable import TokenRoles

/// A ``RecordApplier`` on an embedded event loop, between a scripted group, broker and Redis. The test ends it.
final class ApplierBench {
    let eventLoop = EmbeddedEventLoop()
    let member: ScriptedMember
    let producer = LetterBox()
    let redis: ScriptedState
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
        member = ScriptedMember(on: eventLoop)
        redis = ScriptedState(on: eventLoop)
        clock = wallClock.map { [redis, eventLoop, lines] in
            $0.check(redis, on: eventLoop, lines)
        }
        applier = RecordApplier(
            eventLoop: eventLoop,
            clients: .init(consumer: member, producer: producer, redis: redis, layout: TokenStore.layout, clock: clock),
            source: ScriptedMember.topic,
            names: TopicNames(),
            batchLimit: 100,
            logger: lines.logger,
            replay: masters.map { [lines] masters in
                RecordReplay(
                    redis: masters,
                    window: .seconds(600),
                    topic: ScriptedMember.topic,
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
        applier.start()
    }

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
        redis.silent = []
        redis.errors = [:]
        redis.scriptErrors = [:]
        producer.isSilent = false
        _ = applier.stop()
        pass(.minutes(1))
    }
}

/// The clock of a host, which a test sets.
final class WallClock {
    var unixMilliseconds: Int64

    init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    /// Compares it with that of Redis.
    func check(_ redis: ScriptedState, on eventLoop: EmbeddedEventLoop, _ lines: LogLines) -> ClockCheck {
        ClockCheck(redis: redis, eventLoop: eventLoop, logger: lines.logger) { self.unixMilliseconds }
    }
}

/// Takes dead letters and tombstones, and reports on them when it is polled.
final class LetterBox: MessageProducer {
    struct Letter: Equatable {
        var value: String
        var reason: String
        var detail: String
    }

    var onDelivery: (UInt64) -> Void = { _ in }
    private(set) var letters: [Letter] = []
    /// The values of tombstones.
    private(set) var tombstones: [[UInt8]] = []
    /// Nothing is reported for now.
    var isSilent = false
    /// The broker's objection to a dead letter, by its headers.
    var objection: ([(String, [UInt8])], _ valueBytes: Int) -> KafkaError? = { _, _ in nil }
    /// Dead letters that it was given, taken or not.
    private(set) var attempts = 0
    private var unreported: [UInt64] = []

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        attempts += 1
        if let error = objection(headers, value.count) { throw error }
        letters.append(
            Letter(
                value: String(decoding: value, as: UTF8.self),
                reason: headers.text("reason") ?? "",
                detail: headers.text("detail") ?? ""
            )
        )
        unreported.append(opaque)
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        tombstones.append(value ?? [])
        unreported.append(opaque)
    }

    func poll(timeoutMilliseconds: Int32) {
        guard !isSilent else { return }
        let numbers = unreported
        unreported = []
        for number in numbers { onDelivery(number) }
    }

    func close(flushMilliseconds: Int32) {}
}
