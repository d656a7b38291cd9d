import APNsProtocol
import Foundation
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import RedisClient

/// Reads every topic's feedback list on a schedule, each under a lease so that only one harvester reads it at a time.
///
/// Runs on `eventLoop`.
final class FeedbackHarvest {
    private let eventLoop: any EventLoop
    private let sources: [FeedbackReader.Source]
    private let producer: KafkaProducer
    private let redis: RedisConnection
    private let settings: HarvesterSettings
    private let names = TopicNames()
    private let logger: Logger
    /// Tells this process's leases from others'.
    private let owner = UUID().uuidString

    /// From a reading that failed to the next attempt.
    private static let retryDelay = TimeAmount.seconds(60)

    private var timer: RepeatedTask?
    private var reading: Set<Int> = []
    private var pending: [UInt64: Pending] = [:]
    private var nextNumber: UInt64 = 0
    private var stopped: EventLoopPromise<Void>?

    private struct Pending {
        var key: [UInt8]
        var value: [UInt8]
        var acknowledged: () -> Void
    }

    init(
        eventLoop: any EventLoop,
        sources: [FeedbackReader.Source],
        producer: KafkaProducer,
        redis: RedisConnection,
        settings: HarvesterSettings,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.sources = sources
        self.producer = producer
        self.redis = redis
        self.settings = settings
        self.logger = logger
    }

    func start() {
        timer = eventLoop.repeating(after: .milliseconds(200), every: TimeAmount(settings.interval)) { [unowned self] in
            for index in sources.indices { harvest(index) }
        }
    }

    /// Lets readings under way finish: what they have read must be acknowledged.
    func stop() -> EventLoopFuture<Void> {
        let promise = stopped ?? eventLoop.makePromise(of: Void.self)
        stopped = promise
        timer?.cancel()
        finishStopIfIdle()
        return promise.futureResult
    }

    // MARK: Lease

    private func leaseKey(_ source: FeedbackReader.Source) -> String {
        "l:{\(source.environment):\(source.bundleID)}:feedback"
    }

    private func harvest(_ index: Int) {
        guard !reading.contains(index), stopped == nil else { return }
        reading.insert(index)
        redis.send { writer in
            writer.command("SET", argumentCount: 5)
            writer.argument(leaseKey(sources[index]))
            writer.argument(owner)
            writer.argument("NX")
            writer.argument("PX")
            writer.argument(Int(settings.lease / .milliseconds(1)))
        } _: { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let reply) where !reply.isNull: read(index)
            case .success: finished(index)
            case .failure(let error):
                logger.warning("lease could not be taken", metadata: metadata(index, ["error": "\(error)"]))
                finished(index)
            }
        }
    }

    private static let extend = RedisScript(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
    )
    private static let release = RedisScript(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
    )

    private func extendLease(_ index: Int) {
        redis.evaluate(Self.extend, keyCount: 1, argumentCount: 2) { writer in
            writer.argument(leaseKey(sources[index]))
            writer.argument(owner)
            writer.argument(Int(settings.lease / .milliseconds(1)))
        } _: { _ in
        }
    }

    private func releaseLease(_ index: Int) {
        redis.evaluate(Self.release, keyCount: 1, argumentCount: 1) { writer in
            writer.argument(leaseKey(sources[index]))
            writer.argument(owner)
        } _: { [weak self] _ in
            self?.finished(index)
        }
    }

    // MARK: Reading

    private func read(_ index: Int) {
        let source = sources[index]
        let third = TimeAmount(settings.lease / 3)
        let renewal = eventLoop.repeating(after: third, every: third) { [weak self] in self?.extendLease(index) }
        let reader = FeedbackReader(source: source, eventLoop: eventLoop) { [unowned self] tuple, acknowledged in
            publish(tuple, of: source, acknowledged)
        }
        reader.read().assumeIsolated().whenComplete { [self] result in
            renewal.cancel()
            // The reader lives until here.
            withExtendedLifetime(reader) {}
            switch result {
            case .success(let reading):
                logger.info(
                    "feedback read",
                    metadata: metadata(index, ["tuples": "\(reading.tuples)", "cut-bytes": "\(reading.cutBytes)"])
                )
            case .failure(let error):
                logger.error("feedback could not be read", metadata: metadata(index, ["error": "\(error)"]))
                tryAgainSoon(index)
            }
            releaseLease(index)
        }
    }

    /// A list must be read at least daily ([10]); one failure must not cost a whole interval.
    private func tryAgainSoon(_ index: Int) {
        let wait = min(TimeAmount(settings.interval), Self.retryDelay)
        eventLoop.assumeIsolated().scheduleTask(in: wait) { [weak self] in self?.harvest(index) }
    }

    private func finished(_ index: Int) {
        reading.remove(index)
        finishStopIfIdle()
    }

    private func finishStopIfIdle() {
        guard let stopped, reading.isEmpty, pending.isEmpty else { return }
        stopped.succeed()
    }

    // MARK: Publishing

    private func publish(
        _ tuple: APNsProtocol.FeedbackTuple,
        of source: FeedbackReader.Source,
        _ acknowledged: @escaping () -> Void
    ) {
        var message = PushFeedbackTuple()
        message.environment = source.environment
        message.timestamp = tuple.timestamp
        message.token = Data(tuple.token)
        message.harvestedAt = Int64(Date().timeIntervalSince1970)
        let number = nextNumber
        nextNumber += 1
        pending[number] = Pending(
            key: Array(source.bundleID.utf8),
            value: (try? message.serializedBytes()) ?? [],
            acknowledged: acknowledged
        )
        hand(over: number)
    }

    private func hand(over number: UInt64) {
        guard let message = pending[number] else { return }
        do throws(KafkaError) {
            try producer.produce(
                topic: names.feedback,
                key: message.key,
                value: message.value,
                headers: [],
                opaque: number
            )
        } catch {
            retry(number, error)
        }
    }

    private func retry(_ number: UInt64, _ error: KafkaError) {
        logger.error("feedback tuple was not published; trying again", metadata: ["error": "\(error)"])
        eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [weak self] in self?.hand(over: number) }
    }

    /// The broker's word on a tuple.
    func delivered(_ number: UInt64, error: KafkaError?) {
        if let error { return retry(number, error) }
        pending.removeValue(forKey: number)?.acknowledged()
        finishStopIfIdle()
    }

    private func metadata(_ index: Int, _ more: Logger.Metadata) -> Logger.Metadata {
        more.merging(
            ["topic": "\(sources[index].bundleID)", "environment": "\(sources[index].environment)"]
        ) { $1 }
    }
}
