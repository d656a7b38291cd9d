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
        if outcome.kind == .summary {
            var counts = JSONLine()
            for part in outcome.counts { counts.append(Self.name(part.kind), part.tokens) }
            line.append("counts", counts)
        }
        if !outcome.requestID.isEmpty { line.append("request_id", outcome.requestID) }
        if outcome.withoutTokenState { line.append("without_token_state", true) }
        if !outcome.warning.isEmpty { line.append("warning", outcome.warning) }
        line.append("decided_at", UTCTimestamp.text(unixMilliseconds: outcome.decidedAtMs))
        return line
    }

    /// For a person, seven columns that are always there: time, outcome, bundle, token, why, request id, coordinates.
    /// Ids and reasons are others' words, and stay within their columns.
    var text: String {
        let place = "\(outcome.sourceTopic)[\(outcome.sourcePartition)]@\(outcome.sourceOffset)#\(outcome.tokenIndex)"
        return [
            UTCTimestamp.text(unixMilliseconds: outcome.decidedAtMs), kind, outcome.bundleID, token, why,
            outcome.requestID, place,
        ].map(TerminalText.column).joined(separator: "  ")
    }

    private var why: String {
        var parts = outcome.counts.map { "\(Self.name($0.kind)) \($0.tokens)" }
        parts += [outcome.reason, outcome.warning].filter { !$0.isEmpty }
        if outcome.status != 0 { parts.insert("status \(outcome.status)", at: 0) }
        if outcome.withoutTokenState { parts.append("without token state") }
        return parts.joined(separator: ", ")
    }

    /// The name of the design, for instance `dead_lettered`.
    var kind: String { Self.name(outcome.kind) }

    static func name(_ message: PushOutcomeKind) -> String {
        if let kind = OutcomeKind(message) { return kind.name }
        switch message {
        case .unspecified: return "unspecified"
        case .summary: return "summary"
        default: return "unrecognized_\(message.rawValue)"
        }
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
