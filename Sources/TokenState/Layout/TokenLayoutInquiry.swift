import BelfrySupport
import Logging
import NIOCore
import RedisClient

/// Carries out what ``TokenLayoutStateMachine`` says: at the start, every few seconds, and when a server comes (back).
/// Its owner closes it. Runs on its event loop.
final class TokenLayoutInquiry {
    /// Called with the layout if it comes after the patience.
    var onLateLayout: (TokenLayout) -> Void = { _ in }
    /// Called when a role that knows a layout, or went on without, cannot go on.
    var onFault: (TokenLayoutFault) -> Void = { _ in }

    private let redis: RedisCluster
    private let logger: Logger
    private let first: EventLoopPromise<TokenLayout?>
    private var machine: TokenLayoutStateMachine
    private var isFirst = true
    private var isAsking = false
    private var isClosed = false
    private var looking: RepeatingTimer?
    private var patienceEnd: Scheduled<Void>?

    /// Time before the next look while no layout is known.
    private static let retry = TimeAmount.seconds(1)
    /// Keys that a server looks at in one step of a search.
    private static let scanKeys = 1000

    /// - Parameters:
    ///   - new: the layout of an installation that begins now.
    ///   - report: called with the news of the connections.
    init(
        _ servers: RedisCluster.Configuration,
        new: TokenLayout,
        eventLoop: any EventLoop,
        logger: Logger,
        report: @escaping (RedisConnectionState) -> Void
    ) {
        redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        machine = TokenLayoutStateMachine(new: new)
        first = eventLoop.makePromise()
        self.logger = logger
        redis.onStateChange = report
        redis.onMasters = { [unowned self] in look() }
    }

    /// - Parameter patience: the longest wait for the layout; nil: as long as it takes.
    func start(every interval: TimeAmount, patience: TimeAmount?) {
        redis.start()
        looking = redis.eventLoop.repeating(after: interval, every: interval) { [unowned self] in look() }
        guard let patience else { return }
        patienceEnd = redis.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.answerFirst(.success(nil)) }
    }

    /// The layout; nil: the patience is over. Fails with a `ToolError`, or with `CancellationError` when closed before.
    var firstLayout: EventLoopFuture<TokenLayout?> { first.futureResult }

    /// Closing twice is harmless.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        looking?.cancel()
        redis.onMasters = nil
        redis.close()
        answerFirst(.failure(CancellationError()))
    }

    // MARK: Asking

    private func look() {
        guard !isAsking, !isClosed else { return }
        isAsking = true
        carryOut(.read)
    }

    private func carryOut(_ action: TokenLayoutStateMachine.Action) {
        switch action {
        case .read:
            redis.send(slot: TokenLayout.slot) {
                TokenLayout.writeRead(into: &$0)
            } _: { [weak self] result in
                self?.takeReply(result.map(\.string)) { $0.read($1) }
            }
        case .search:
            search(redis.masterAddresses[...], from: "0")
        case .write(let layout):
            if machine.isKnown { logger.warning("Redis lost the token layout; writing it again") }
            redis.send(slot: TokenLayout.slot) {
                layout.writeCreation(into: &$0)
            } _: { [weak self] result in
                self?.takeReply(result.map { _ in }) { machine, _ in machine.wrote() }
            }
        case .use(let layout):
            isAsking = false
            use(layout)
        case .rest:
            isAsking = false
        case .end(let fault):
            isAsking = false
            fail(fault)
        }
    }

    private func takeReply<Value>(
        _ result: Result<Value, RedisError>,
        _ input: (inout TokenLayoutStateMachine, Value) -> TokenLayoutStateMachine.Action
    ) {
        guard !isClosed else { return }
        switch result {
        case .success(let value): carryOut(input(&machine, value))
        case .failure(let error): failed(error)
        }
    }

    /// Looks for tokens on one server after the other, through all its keys.
    private func search(_ servers: ArraySlice<RedisAddress>, from cursor: String) {
        guard let server = servers.first else { return carryOut(machine.found(areTokensThere: false)) }
        redis.send(to: server) {
            TokenKeys.writeScan(from: cursor, TokenKeys.anyLayout, count: Self.scanKeys, into: &$0)
        } _: { [weak self] result in
            guard let self, !isClosed else { return }
            switch result {
            case .success(let reply):
                let (next, keys) = TokenKeys.readScan(reply)
                guard keys.isEmpty else { return carryOut(machine.found(areTokensThere: true)) }
                search(next == "0" ? servers.dropFirst() : servers, from: next)
            case .failure(let error):
                failed(error)
            }
        }
    }

    // MARK: Answers

    private func use(_ layout: TokenLayout) {
        if isFirst { answerFirst(.success(layout)) } else { onLateLayout(layout) }
    }

    private func fail(_ fault: TokenLayoutFault) {
        if isFirst { answerFirst(.failure(fault.refusal)) } else { onFault(fault) }
    }

    /// Tries again, unless Redis will refuse the same again.
    private func failed(_ error: RedisError) {
        isAsking = false
        if isFirst, case .server(let prefix, _) = error, ["NOPERM", "WRONGTYPE"].contains(prefix) {
            let reason = "k:tokens, which says where tokens lie, cannot be used: \(error)"
            return answerFirst(.failure(ToolError.configuration(reason)))
        }
        guard !machine.isKnown else { return }
        logger.warning("Redis does not tell where tokens lie; trying again", metadata: ["error": "\(error)"])
        redis.eventLoop.assumeIsolated().scheduleTask(in: Self.retry) { [weak self] in self?.look() }
    }

    private func answerFirst(_ answer: Result<TokenLayout?, any Error>) {
        guard isFirst else { return }
        isFirst = false
        patienceEnd?.cancel()
        first.completeWith(answer)
    }
}

extension TokenLayoutFault {
    /// The error of a role that cannot begin. To start it again helps where others may write the layout meanwhile.
    fileprivate var refusal: ToolError {
        switch self {
        case .layoutIsGone: .notFound(description)
        case .unknownForm, .changed: .configuration(description)
        }
    }
}
