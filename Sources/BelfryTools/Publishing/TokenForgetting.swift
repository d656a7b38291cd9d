import APNsProtocol
import BelfrySupport
import PushTopics
import TokenState

/// The result of `belfry tokens forget`.
public struct ForgetReport: Equatable, Sendable {
    public var bundleID: String
    public var environment: String
    public var tokens = 0
    /// Of which something was known.
    public var known = 0

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("topic", bundleID)
        line.append("environment", environment)
        line.append("tokens", tokens)
        line.append("known", known)
        return line.text
    }

    /// A sentence.
    public var text: String {
        "forgot \(counted(tokens, "token")) of \(bundleID) in \(environment); something was known of \(known)"
    }
}

/// Carries out `belfry tokens forget`: removes the records of tokens from Redis, then publishes to push.tombstones that
/// they are gone, and waits for the acknowledgements. Doing it again is harmless, and mends what was cut off in the
/// middle.
///
/// Blocks the calling thread.
public enum TokenForgetting {
    /// Tokens in hand at once.
    private static let chunk = 500

    /// - Parameter tokenLimitBytes: the longest token there can be.
    /// - Throws: `ToolError.invalidInput` for what is no token, before anything is removed.
    public static func forget(
        _ input: TokenInput,
        bundleID: String,
        environment: EnvironmentSettings,
        inspector: TokenInspector,
        through settings: KafkaSettings
    ) throws -> ForgetReport {
        let names = TopicNames(settings)
        let faults = PublishOrder.faults(bundleID: bundleID, spread: 1)
        guard faults.isEmpty else { throw ToolError.invalidInput(faults) }
        let tokens = try input.tokens(lengths: 1...max(100, environment.tokenLimitBytes))
        let producer = try RecordProducer(settings, topic: names.tombstones)
        var report = ForgetReport(bundleID: bundleID, environment: environment.name)
        do {
            for start in stride(from: 0, to: tokens.count, by: chunk) {
                let part = (start..<min(start + chunk, tokens.count)).map { tokens.withToken(at: $0) { Array($0) } }
                let known = try WaitNotice.during(inspector.servers) {
                    try inspector.forget(part, environment: environment.name, bundleID: bundleID)
                }
                report.tokens += part.count
                report.known += known.count { $0 }
                for token in part {
                    let key = TombstonePublisher.key(bundleID: bundleID, token: token)
                    try producer.sendRemoval(key: key, to: names.tombstones)
                }
            }
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        return report
    }
}
