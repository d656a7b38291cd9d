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
    /// The masters changed while they were being asked.
    private var isDoubtful = false
    private var isFirst = true
    private var isClosed = false

    init(_ servers: RedisCluster.Configuration, eventLoop: any EventLoop, logger: Logger, report: @escaping Report) {
        redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        self.report = report
        promise = eventLoop.makePromise()
        redis.onMasters = { [unowned self] in ask() }
        redis.onStateChange = { state in
            guard case .disconnected(let cause) = state else { return }
            logger.debug("the check of Redis waits", metadata: ["reason": "\(cause)"])
        }
    }

    func start() {
        redis.start()
    }

    /// The verdicts of all masters, once all have answered; fails with `CancellationError` when closed before.
    var firstVerdicts: EventLoopFuture<[(RedisAddress, RedisDurability)]> { promise.futureResult }

    /// Ends the inquiry. Closing twice is harmless.
    func close() {
        guard !isClosed else { return }
        isClosed = true
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
        redis.info("replication") { [weak self] replication in
            self?.redis.info("persistence") { [weak self] persistence in
                self?.redis.info("memory") { [weak self] memory in
                    self?.take(replication, persistence, memory)
                }
            }
        }
    }

    private typealias Infos = [(RedisAddress, Result<RedisInfo, RedisError>)]

    private func take(_ replication: Infos, _ persistence: Infos, _ memory: Infos) {
        guard !isClosed else { return }
        isAsking = false
        let masters = redis.masterAddresses
        // A server that comes back later is asked in full, whatever it answered before.
        answers = answers.filter { masters.contains($0.key) }
        for server in masters {
            let infos = [replication, persistence, memory].compactMap { infos in
                infos.first { $0.0 == server }?.1
            }
            guard infos.count == 3, let answer = Answer(infos[0], infos[1], infos[2]), answers[server] != answer else {
                continue
            }
            answers[server] = answer
            report(server, answer.verdict, isFirst)
        }
        if isFirst, redis.isReady, answers.count == masters.count {
            isFirst = false
            promise.succeed(masters.compactMap { server in answers[server].map { (server, $0.verdict) } })
        }
        if isDoubtful { ask() }
    }
}

extension DurabilityInquiry.Answer {
    /// Nil: the connection was lost, and the next one asks again. A command that the server refuses is not repeated: it
    /// would be refused again.
    fileprivate init?(
        _ replication: Result<RedisInfo, RedisError>,
        _ persistence: Result<RedisInfo, RedisError>,
        _ memory: Result<RedisInfo, RedisError>
    ) {
        do throws(RedisError) {
            let history = try replication.get()["master_replid"] ?? ""
            self.init(
                history: history,
                verdict: RedisDurability(persistence: try persistence.get(), memory: try memory.get())
            )
        } catch {
            guard case .server = error else { return nil }
            self.init(history: "", verdict: .unknown("\(error)"))
        }
    }
}
