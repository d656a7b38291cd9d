import APNsProtocol
import BelfrySupport
import PushSchemas

/// An outcome as `belfry outcomes` prints it.
struct OutcomeLine {
    private let outcome: PushOutcome

    init(_ outcome: PushOutcome) {
        self.outcome = outcome
    }

    /// One JSON object; what does not apply is left out.
    var json: JSONLine {
        var line = JSONLine()
        line.append("outcome", kind)
        line.append("source", source)
        line.append("bundle", outcome.bundleID)
        if !outcome.environment.isEmpty { line.append("environment", outcome.environment) }
        if !outcome.token.isEmpty { line.append("token", token) }
        if outcome.status != 0 { line.append("status", outcome.status) }
        if !outcome.reason.isEmpty { line.append("reason", outcome.reason) }
        if !outcome.requestID.isEmpty { line.append("request_id", outcome.requestID) }
        if outcome.withoutTokenState { line.append("without_token_state", true) }
        line.append("decided_at", UTCTimestamp.text(unixMilliseconds: outcome.decidedAtMs))
        return line
    }

    /// For a person: time, kind, token, why, where from.
    var text: String {
        var columns = [UTCTimestamp.text(unixMilliseconds: outcome.decidedAtMs), kind, outcome.bundleID]
        if !outcome.token.isEmpty { columns.append(token) }
        if outcome.status != 0 { columns.append("status \(outcome.status)") }
        if !outcome.reason.isEmpty { columns.append(outcome.reason) }
        if outcome.withoutTokenState { columns.append("without token state") }
        columns.append(
            "\(outcome.sourceTopic)[\(outcome.sourcePartition)]@\(outcome.sourceOffset)#\(outcome.tokenIndex)"
        )
        return columns.joined(separator: "  ")
    }

    /// The name of the design, for instance `dead_lettered`.
    var kind: String {
        if let kind = OutcomeKind(outcome.kind) { return kind.name }
        return outcome.kind == .unspecified ? "unspecified" : "unrecognized_\(outcome.kind.rawValue)"
    }

    private var token: String { Hex.encode([UInt8](outcome.token)) }

    private var source: JSONLine {
        var source = JSONLine()
        source.append("topic", outcome.sourceTopic)
        source.append("partition", outcome.sourcePartition)
        source.append("offset", outcome.sourceOffset)
        source.append("token_index", outcome.tokenIndex)
        return source
    }
}
