import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import SocketErrors

/// Reads one topic's feedback list on a schedule: carries out what a ``HarvestStateMachine`` decides. Runs on
/// `eventLoop`.
final class ListHarvest {
    /// Since the start.
    struct Counters: Equatable, Sendable {
        /// Readings that reached the list's end.
        var readings = 0
        /// By ``HarvestStateMachine/Failure``.
        var failures: [HarvestStateMachine.Failure: Int] = [:]
        /// Times a reading did not begin since the broker was away.
        var brokerAway = 0
        /// Times the lease was not to be had, since another harvester holds it.
        var leasesRefused = 0
        /// Times Redis did not answer to the question for the lease.
        var leasesUnknown = 0
        /// Tuples that were read.
        var tuples = 0
        /// Of these: those the broker has acknowledged.
        var acknowledged = 0
        /// Bytes of tuples that the end of a stream cut off.
        var cutBytes = 0
    }

    let source: FeedbackConnection.Source
    private(set) var counters = Counters()
    /// The time at which a reading reached the list's end; at first that of the start.
    private(set) var lastCompleted: MonotonicTime
    private(set) var machine: HarvestStateMachine

    private let eventLoop: any EventLoop
    private let broker: any BrokerCheck
    private let lease: any FeedbackLease
    private let publish: Publish
    private let clock: () -> MonotonicTime
    private let onReading: (Result) -> Void
    private let logger: Logger

    private var connection: FeedbackConnection?
    private var decoder = FeedbackDecoder()
    private var backlog = ByteBuffer()
    /// The reason that the connection ended.
    private var connectionError: (any Error)?
    private var timer: (deadline: MonotonicTime, task: Scheduled<Void>)?
    private var stopped: EventLoopPromise<Void>?
    private var isClosed = false

    /// Publishes tuples, however often it takes, and calls back for each that the broker has acknowledged, later.
    typealias Publish = (_ tuples: [FeedbackTuple], _ acknowledged: @escaping () -> Void) -> Void

    /// A reading, and what the connection said at its end.
    typealias Result = (reading: HarvestStateMachine.Reading, error: (any Error)?)

    /// - Parameters:
    ///   - delay: from ``start()`` to the first reading.
    ///   - clock: that of the event loop.
    ///   - onReading: called at the end of each reading.
    init(
        source: FeedbackConnection.Source,
        settings: HarvestStateMachine.Settings,
        delay: Duration,
        eventLoop: any EventLoop,
        broker: any BrokerCheck,
        lease: any FeedbackLease,
        logger: Logger,
        clock: @escaping () -> MonotonicTime = { .init(.now()) },
        onReading: @escaping (Result) -> Void = { _ in },
        publish: @escaping Publish
    ) {
        self.source = source
        self.eventLoop = eventLoop
        self.broker = broker
        self.lease = lease
        self.publish = publish
        self.clock = clock
        self.onReading = onReading
        lastCompleted = clock()
        machine = HarvestStateMachine(settings: settings, due: clock() + delay)
        var logger = logger
        logger[metadataKey: "app"] = "\(source.bundleID)"
        logger[metadataKey: "environment"] = "\(source.environment)"
        self.logger = logger
    }

    /// See ``HarvestStateMachine/use(interval:delay:now:)``.
    func use(interval: Duration, delay: Duration) {
        input { machine, now in
            machine.use(interval: interval, delay: delay, now: now)
            return []
        }
    }

    func start() {
        armTimer()
    }

    /// Lets a reading go on for a while; succeeds when what was read is acknowledged.
    func stop() -> EventLoopFuture<Void> {
        if let stopped { return stopped.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        stopped = promise
        input { $0.stop(now: $1) }
        return promise.futureResult
    }

    /// Ends at once, whatever is not acknowledged. Idempotent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        timer?.task.cancel()
        timer = nil
        connection?.close()
        stopped?.succeed()
    }

    // MARK: The machine

    private func input(_ body: (inout HarvestStateMachine, MonotonicTime) -> [HarvestStateMachine.Effect]) {
        guard !isClosed else { return }
        for effect in body(&machine, clock()) { carryOut(effect) }
        armTimer()
    }

    private func carryOut(_ effect: HarvestStateMachine.Effect) {
        switch effect {
        case .checkBroker: checkBroker()
        case .holdLease: holdLease()
        case .releaseLease: lease.release { [weak self] in self?.input { $0.leaseReleased(now: $1) } }
        case .connect: connect()
        case .listen: connection?.listen()
        case .publish(let bytes): publishNext(bytes)
        case .close: connection?.close()
        case .report(let reading): report(reading)
        case .stopped:
            timer?.task.cancel()
            timer = nil
            stopped?.succeed()
        case .giveUp: giveUp()
        }
    }

    private func giveUp() {
        logger.critical(
            "feedback reading is given up at the stop",
            metadata: [
                "step": "\(machine.step)", "unacknowledged": "\(machine.unacknowledged)",
                "unpublished-bytes": "\(machine.backlogBytes)",
            ]
        )
        close()
    }

    /// One timer, set again when it fires; an earlier deadline replaces it.
    private func armTimer() {
        guard let deadline = machine.deadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            timer.task.cancel()
        }
        let time = NIODeadline.uptimeNanoseconds(deadline.nanoseconds)
        let task = eventLoop.assumeIsolated().scheduleTask(deadline: time) { [weak self] in
            guard let self else { return }
            timer = nil
            input { $0.timerFired(now: $1) }
        }
        timer = (deadline, task)
    }

    private func checkBroker() {
        broker.check { [weak self] error in
            guard let self else { return }
            if let error {
                counters.brokerAway += 1
                logger.warning("feedback is not read while the broker is away", metadata: ["error": "\(error)"])
            }
            input { $0.brokerAnswered(error == nil, now: $1) }
        }
    }

    private func holdLease() {
        lease.hold { [weak self] answer, error in
            guard let self else { return }
            switch answer {
            case .held: break
            case .refused:
                counters.leasesRefused += 1
                logger.debug("lease is held by another harvester")
            case .unknown:
                counters.leasesUnknown += 1
                logger.warning(
                    "lease could not be taken",
                    metadata: ["error": "\(error.map { "\($0)" } ?? "no answer")"]
                )
            }
            input { $0.leaseAnswered(answer, now: $1) }
        }
    }

    // MARK: Reading

    private func connect() {
        decoder = FeedbackDecoder()
        connectionError = nil
        let connection = FeedbackConnection(
            source: source,
            eventLoop: eventLoop,
            events: .init(
                opened: { [weak self] in self?.input { $0.opened(now: $1) } },
                received: { [weak self] in self?.received($0) },
                ended: { [weak self] in self?.ended($0) }
            )
        )
        self.connection = connection
        connection.connect(timeout: TimeAmount(machine.settings.connectTimeout))
    }

    private func received(_ bytes: ByteBuffer) {
        if backlog.readableBytes == 0 {
            backlog = bytes
        } else {
            backlog.writeImmutableBuffer(bytes)
        }
        input { $0.received(bytes: bytes.readableBytes, now: $1) }
    }

    private func publishNext(_ bytes: Int) {
        guard let next = backlog.readSlice(length: bytes) else { preconditionFailure("what is asked for was received") }
        var tuples: [FeedbackTuple] = []
        next.withUnsafeReadableBytes { decoder.decode($0) { tuples.append($0) } }
        counters.tuples += tuples.count
        publish(tuples) { [weak self] in
            guard let self else { return }
            counters.acknowledged += 1
            input { $0.acknowledged(now: $1) }
        }
        let heldBytes = decoder.endOfStream()
        input { $0.handedOver(tuples: tuples.count, heldBytes: heldBytes, now: $1) }
    }

    private func ended(_ error: (any Error)?) {
        connectionError = error
        connection = nil
        let byProxy = (error as? ProxyFailure)?.isLoginRefused ?? false
        input { $0.ended(failed: error != nil, byProxy: byProxy, now: $1) }
    }

    private func report(_ reading: HarvestStateMachine.Reading) {
        counters.cutBytes += reading.cutBytes
        var metadata: Logger.Metadata = ["tuples": "\(reading.tuples)", "cut-bytes": "\(reading.cutBytes)"]
        if let failure = reading.failure {
            counters.failures[failure, default: 0] += 1
            metadata["reason"] = "\(failure.rawValue)"
            if let connectionError { metadata["error"] = "\(connectionProblem(connectionError))" }
            logger.error("feedback could not be read to its end", metadata: metadata)
        } else {
            counters.readings += 1
            lastCompleted = clock()
            logger.info("feedback read", metadata: metadata)
        }
        onReading((reading, connectionError))
    }
}
