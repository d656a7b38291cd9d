import BelfrySupport
import KafkaClient
import PushSchemas
import PushTopics
import RequestLanes

/// Waits for the outcomes of what is published. Blocks its thread: for commands, not for roles.
///
/// It reads without a consumer group, from where push.outcomes ended when it was made.
public final class OutcomeWait {
    /// The result of waiting.
    public struct Result: Sendable {
        /// Tokens without an outcome: the wait was broken off.
        public var missing: Int
        /// Tokens whose device does not get the notification, or for which that is not known.
        public var failed: Int
        let counts: OutcomeCounts

        /// One line for each outcome and reason, the most frequent first, with their ends.
        public func lines(asJSON: Bool) -> [UInt8] { counts.lines(asJSON: asJSON) }
    }

    private let reader: KafkaTopicReader
    private let names: TopicNames
    private var awaited: AwaitedOutcomes
    private var tokens = 0

    private static let timeoutMilliseconds: Int32 = 10_000
    private static let batchLimit = 1000

    /// To be made before anything is published.
    ///
    /// - Parameter lane: that of the requests.
    /// - Throws: the brokers cannot be reached, or have no push.outcomes.
    init(of lane: RequestLane = .normal, through settings: KafkaSettings) throws(ToolError) {
        let names = TopicNames(settings)
        self.names = names
        awaited = AwaitedOutcomes(topic: names.requests(lane))
        var properties = settings.adminProperties(clientID: "belfry-publish")
        properties["fetch.wait.max.ms"] = "100"
        // Outcomes that come while records are still published wait at the broker.
        properties["queued.max.messages.kbytes"] = "4096"
        do throws(KafkaError) {
            let properties = properties
            reader = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try KafkaTopicReader(
                    properties: properties,
                    topic: names.outcomes,
                    from: .end,
                    timeoutMilliseconds: Self.timeoutMilliseconds,
                    onLog: { KafkaWords.tell($0) }
                )
            }
        } catch {
            throw ToolError(asking: error)
        }
    }

    /// Idempotent.
    public func close() { reader.close() }

    /// Before anything is expected.
    func begin(requestID: String) { awaited.requestID = requestID }

    func expect(partition: Int32, offset: Int64, tokens: Int) {
        self.tokens += tokens
        awaited.expect(partition: partition, offset: offset, tokens: tokens)
    }

    /// Reads until every token has its outcome.
    ///
    /// - Parameters:
    ///   - isStopped: asked often; true ends the wait.
    ///   - obstacle: asked now and then while no outcome comes, with the lowest offset without its outcomes of each
    ///     partition that has one; what it finds is told on standard error, once until it finds something else.
    ///   - onProgress: called with the tokens that have their outcomes, and all.
    public func wait(
        isStopped: () -> Bool,
        obstacle: (_ unfinished: [Int32: Int64]) -> String? = { _ in nil },
        onProgress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) -> Result {
        let notice = WaitNotice("the outcomes of \(counted(tokens, "token"))")
        defer { notice.end() }
        var watch = ObstacleWatch(now: .now)
        while !awaited.isComplete, !isStopped() {
            if watch.isDue(now: .now), let text = watch.looked(obstacle(awaited.unfinished), now: .now) {
                Diagnostics.tell(text)
            }
            guard let batch = reader.read(max: Self.batchLimit, timeoutMilliseconds: 100) else { continue }
            let missing = awaited.missing
            for index in 0..<batch.count where batch[index].error == nil {
                let message = batch[index]
                let type = message.contentType
                // Bytes that are no outcome are none of ours.
                if let outcome = try? RequestDecoding.decode(PushOutcome.self, from: message.value, as: type) {
                    awaited.takeOutcome(outcome.atOrigin(message, names))
                }
            }
            if awaited.missing < missing { watch.came(now: .now) }
            onProgress(tokens - awaited.missing, tokens)
        }
        return Result(missing: awaited.missing, failed: awaited.failed, counts: awaited.counts)
    }
}
