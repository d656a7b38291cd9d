import BelfrySupport
import Foundation
import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Decodes a record of push.feedback into changes of the token state.
///
/// The tuple is dead news if the token registered at or after the second in which the app was found missing ([10]); the
/// tombstone script judges that, atomically. A tuple that could do harm is refused: it stays in push.feedback, and its
/// dead letter says why.
struct FeedbackTupleDecoder: Sendable {
    /// The longest token of each environment, bytes.
    private let tokenLimits: [String: Int]
    private let now: @Sendable () -> Int64

    /// - Parameter now: UNIX seconds.
    init(
        environments: [EnvironmentSettings],
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        tokenLimits = Dictionary(
            environments.map { ($0.name, $0.tokenLimitBytes) },
            uniquingKeysWith: { max($0, $1) }
        )
        self.now = now
    }

    func changes(for message: KafkaMessageView) throws(RecordRefusal) -> [TokenChange] {
        let tuple = try RecordRefusal.of { () throws(RecordError) in
            try RequestDecoding.decode(PushFeedbackTuple.self, from: message.value, as: message.contentType)
        }
        let key = try RecordRefusal.of { () throws(RecordError) in try RecordKey(parsing: message.key) }
        try judge(tuple)
        return [
            TokenChange(
                environment: tuple.environment,
                bundleID: key.bundleID,
                token: Array(tuple.token),
                kind: .tombstone(at: tuple.timestamp, .feedback)
            )
        ]
    }

    /// Throws if the tuple must not be applied.
    func judge(_ tuple: PushFeedbackTuple) throws(RecordRefusal) {
        guard !tuple.environment.isEmpty else {
            throw RecordRefusal(reason: "tuple-incomplete", detail: "the tuple names no environment")
        }
        // Part of a key in Redis. It may be one that is configured elsewhere only.
        guard EnvironmentSettings.isName(tuple.environment) else {
            throw RecordRefusal(
                reason: "environment-unknown",
                detail: "environment '\(printable(tuple.environment))'; allowed: \(EnvironmentSettings.nameRule)"
            )
        }
        let refusal = FeedbackTupleRule.judge(
            tokenBytes: tuple.token.count,
            tokenLimitBytes: tokenLimits[tuple.environment],
            timestamp: tuple.timestamp,
            // As of the reading, so that a tuple that is applied later, or again, is judged the same.
            harvestedAt: tuple.harvestedAt > 0 ? tuple.harvestedAt : now()
        )
        guard let refusal else { return }
        let detail =
            switch refusal {
            case .tokenLength: "the token has \(counted(tuple.token.count, "byte"))"
            case .timestampAbsurd: "the timestamp \(tuple.timestamp) is older than the feedback service"
            case .timestampInFuture: "the timestamp \(tuple.timestamp) is later than the reading, \(tuple.harvestedAt)"
            }
        throw RecordRefusal(reason: refusal.rawValue, detail: detail)
    }
}
