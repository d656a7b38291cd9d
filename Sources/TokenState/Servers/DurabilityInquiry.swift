import Logging
import NIOCore
import RedisClient

/// Asks every master whether it keeps acknowledged data, and asks again when its history changes. Its owner closes it.
/// Runs on its event loop.
final class DurabilityInquiry {
    /// Called for each new verdict; `isFirst` until all masters have answered once.
    typealias Report = (_ server: RedisAddress, _ verdict: RedisDurability, _ isFirst: Bool) -> Void

    /// A server's answer, with its replication ID. A server that was restarted, or a replica that took over, may be set
    /// up otherwise than before.
    fileprivate struct Answer: Equatable {
        var history: String
        var verdict: RedisDurability
    }

    private let redis: RedisCluster
    private let report: Report
    private let promise: EventLoopPromise<[(RedisAddress, RedisDurability)]>
    /// The latest answers of the masters.
    private var answers: [RedisAddress: Answer] = [:]
    private var isAsking = false
    /// Ends the wait for the first answers.
    private var patienceEnd: Scheduled<Void>?

    /// Longest wait for the other masters after the first answer: one that hangs holds up no more than its own slots.
    private static let restPatience = TimeAmount.seconds(30)
    /// The masters changed while they were being asked.
    private var isDoubtful = false
    private var isFirst = true
    private var isClosed = false

    /// - Parameter isAwaited: nothing else runs until the first verdicts, so that no other part tells that Redis is
    ///   away.
    init(
        _ servers: RedisCluster.Configuration,
        eventLoop: any EventLoop,
        isAwaited: Bool,
        logger: Logger,
        report: @escaping Report
    ) {
        redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        self.report = report
        promise = eventLoop.makePromise()
        redis.onMasters = { [unowned self] in ask() }
        redis.onStateChange = { [unowned self] state in
            guard case .disconnected(let cause) = state else { return }
            if isAwaited, isFirst {
                logger.report(state)
            } else {
                logger.debug("the check of Redis waits", metadata: ["reason": "\(cause)"])
            }
        }
    }

    /// - Parameter patience: the longest wait for the first verdicts; nil: as long as it takes.
    func start(patience: TimeAmount?) {
        redis.start()
        guard let patience else { return }
        patienceEnd = redis.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.endFirst() }
    }

    /// The verdicts of all masters, once all have answered, or of those that have when the patience is over; fails with
    /// `CancellationError` when closed before.
    var firstVerdicts: EventLoopFuture<[(RedisAddress, RedisDurability)]> { promise.futureResult }

    /// Ends the inquiry. Closing twice is harmless.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        patienceEnd?.cancel()
        redis.close()
        if isFirst { promise.fail(CancellationError()) }
    }

    private func ask() {
        guard !isAsking, !isClosed else {
            isDoubtful = true
            return
        }
        isAsking = true
        isDoubtful = false
        redis.setting("appendfsync") { [weak self] syncing in
            self?.redis.info("replication") { [weak self] replication in
                self?.redis.info("persistence") { [weak self] persistence in
                    self?.redis.info("memory") { [weak self] memory in
                        self?.takeAnswers(syncing, replication, persistence, memory)
                    }
                }
            }
        }
    }

    private typealias Infos = [(RedisAddress, Result<RedisInfo, RedisError>)]
    private typealias Settings = [(RedisAddress, Result<String?, RedisError>)]

    private func takeAnswers(_ syncing: Settings, _ replication: Infos, _ persistence: Infos, _ memory: Infos) {
        guard !isClosed else { return }
        isAsking = false
        let masters = redis.masterAddresses
        // A server that comes back later is asked in full, whatever it answered before.
        answers = answers.filter { masters.contains($0.key) }
        for server in masters {
            let infos = [replication, persistence, memory].compactMap { infos in
                infos.first { $0.0 == server }?.1
            }
            guard infos.count == 3, let syncing = syncing.first(where: { $0.0 == server })?.1,
                let answer = Answer(syncing, infos[0], infos[1], infos[2]), answers[server] != answer
            else { continue }
            answers[server] = answer
            report(server, answer.verdict, isFirst)
        }
        if redis.isReady, answers.count == masters.count {
            endFirst()
        } else if isFirst, patienceEnd == nil, !answers.isEmpty {
            patienceEnd = redis.eventLoop.assumeIsolated().scheduleTask(in: Self.restPatience) { self.endFirst() }
        }
        if isDoubtful { ask() }
    }

    private func endFirst() {
        guard isFirst, !isClosed else { return }
        isFirst = false
        patienceEnd?.cancel()
        promise.succeed(redis.masterAddresses.compactMap { server in answers[server].map { (server, $0.verdict) } })
    }
}

extension DurabilityInquiry.Answer {
    /// Nil: the connection was lost, and the next one asks again. A command that the server refuses is not repeated: it
    /// would be refused again.
    fileprivate init?(
        _ appendfsync: Result<String?, RedisError>,
        _ replication: Result<RedisInfo, RedisError>,
        _ persistence: Result<RedisInfo, RedisError>,
        _ memory: Result<RedisInfo, RedisError>
    ) {
        do throws(RedisError) {
            self.init(
                history: try replication.told(orElse: RedisInfo(""))["master_replid"] ?? "",
                verdict: RedisDurability(
                    persistence: try persistence.told(orElse: RedisInfo("")),
                    memory: try memory.told(orElse: RedisInfo("")),
                    appendfsync: try appendfsync.told(orElse: nil)
                )
            )
        } catch {
            return nil
        }
    }
}

extension Result where Failure == RedisError {
    /// The answer, or its stand-in if the server refuses to tell.
    fileprivate func told(orElse nothing: Success) throws(RedisError) -> Success {
        if case .failure(.server) = self { return nothing }
        return try get()
    }
}
