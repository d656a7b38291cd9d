import BelfrySupport
import Logging
import NIOCore
import RedisClient

/// Carries out what ``PlaceRuleStateMachine`` says: at the start, every few seconds, and when a server comes (back).
/// Its owner closes it. Runs on its event loop.
final class PlaceRuleInquiry {
    /// Called with the rule if it comes after the patience.
    var onLateRule: (PlaceRule) -> Void = { _ in }
    /// Called when a role that knows a rule, or went on without, cannot go on.
    var onFault: (PlaceRuleFault) -> Void = { _ in }

    private let redis: RedisCluster
    private let logger: Logger
    private let first: EventLoopPromise<PlaceRule?>
    private var machine: PlaceRuleStateMachine
    private var isFirst = true
    private var isAsking = false
    private var isClosed = false
    private var looking: RepeatingTimer?
    private var patienceEnd: Scheduled<Void>?

    /// Time before the next look while no rule is known.
    private static let retry = TimeAmount.seconds(1)
    /// Keys that a server looks at in one step of a search.
    private static let scanKeys = 1000

    /// - Parameters:
    ///   - new: the rule of an installation that begins now.
    ///   - report: called with the news of the connections.
    init(
        _ servers: RedisCluster.Configuration,
        new: PlaceRule,
        eventLoop: any EventLoop,
        logger: Logger,
        report: @escaping (RedisConnectionState) -> Void
    ) {
        redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        machine = PlaceRuleStateMachine(new: new)
        first = eventLoop.makePromise()
        self.logger = logger
        redis.onStateChange = report
        redis.onMasters = { [unowned self] in look() }
    }

    /// - Parameter patience: the longest wait for the rule; nil: as long as it takes.
    func start(every interval: TimeAmount, patience: TimeAmount?) {
        redis.start()
        looking = redis.eventLoop.repeating(after: interval, every: interval) { [unowned self] in look() }
        guard let patience else { return }
        patienceEnd = redis.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.answerFirst(.success(nil)) }
    }

    /// The rule; nil: the patience is over. Fails with a `ToolError`, or with `CancellationError` when closed before.
    var firstRule: EventLoopFuture<PlaceRule?> { first.futureResult }

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

    private func carryOut(_ action: PlaceRuleStateMachine.Action) {
        switch action {
        case .read:
            redis.send(slot: PlaceRule.slot) {
                PlaceRule.writeRead(into: &$0)
            } _: { [weak self] result in
                self?.takeReply(result.map(\.string)) { $0.read($1) }
            }
        case .search:
            search(redis.masterAddresses[...], from: "0", isUnkeyedThere: false)
        case .write(let rule):
            if machine.isKnown { logger.warning("Redis lost the rule of token places; writing it again") }
            redis.send(slot: PlaceRule.slot) {
                rule.writeCreation(into: &$0)
            } _: { [weak self] result in
                self?.takeReply(result.map { _ in }) { machine, _ in machine.wrote() }
            }
        case .use(let rule):
            isAsking = false
            use(rule)
        case .rest:
            isAsking = false
        case .end(let fault):
            isAsking = false
            fail(fault)
        }
    }

    private func takeReply<Value>(
        _ result: Result<Value, RedisError>,
        _ input: (inout PlaceRuleStateMachine, Value) -> PlaceRuleStateMachine.Action
    ) {
        guard !isClosed else { return }
        switch result {
        case .success(let value): carryOut(input(&machine, value))
        case .failure(let error): failed(error)
        }
    }

    /// Looks for tokens on one server after the other, through all its keys.
    private func search(_ servers: ArraySlice<RedisAddress>, from cursor: String, isUnkeyedThere: Bool) {
        guard let server = servers.first else {
            return carryOut(machine.found(isUnkeyedThere: isUnkeyedThere, isOtherThere: false))
        }
        redis.send(to: server) {
            TokenKeys.writeScan(from: cursor, nil, count: Self.scanKeys, into: &$0)
        } _: { [weak self] result in
            guard let self, !isClosed else { return }
            switch result {
            case .success(let reply):
                let (next, keys) = TokenKeys.readScan(reply)
                let digits = Set(keys.compactMap(TokenKeys.layoutDigit))
                let isUnkeyedThere = isUnkeyedThere || digits.contains(TokenLayout.unkeyed.digit)
                guard digits.allSatisfy({ $0 <= TokenLayout.unkeyed.digit }) else {
                    return carryOut(machine.found(isUnkeyedThere: isUnkeyedThere, isOtherThere: true))
                }
                search(next == "0" ? servers.dropFirst() : servers, from: next, isUnkeyedThere: isUnkeyedThere)
            case .failure(let error):
                failed(error)
            }
        }
    }

    // MARK: Answers

    private func use(_ rule: PlaceRule) {
        if rule.layout == .unkeyed {
            logger.warning("places of tokens have no secret key: crafted tokens can pile up in one bucket")
        }
        if isFirst { answerFirst(.success(rule)) } else { onLateRule(rule) }
    }

    private func fail(_ fault: PlaceRuleFault) {
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

    private func answerFirst(_ answer: Result<PlaceRule?, any Error>) {
        guard isFirst else { return }
        isFirst = false
        patienceEnd?.cancel()
        first.completeWith(answer)
    }
}

extension PlaceRuleFault {
    /// The error of a role that cannot begin. To start it again helps where others may write the rule meanwhile.
    fileprivate var refusal: ToolError {
        switch self {
        case .ruleIsGone: .notFound(description)
        case .unknownForm, .changed: .configuration(description)
        }
    }
}
