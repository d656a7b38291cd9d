import BelfrySupport
import PushSchemas

/// Outcomes counted by kind, status and reason.
struct OutcomeCounts {
    private struct Row: Hashable {
        var kind: String
        var status: UInt32
        var reason: String
    }

    private var counts: [Row: Int] = [:]

    /// Reasons that are told apart; more come only from a program that makes them up, and count together.
    private static let mostRows = 1000

    /// Counts an outcome, or those of a summary that a filter admits.
    mutating func count(_ outcome: PushOutcome, _ filter: OutcomeFilter = OutcomeFilter()) {
        guard outcome.kind == .summary else {
            var row = Row(kind: OutcomeLine(outcome).kind, status: outcome.status, reason: outcome.reason)
            if counts[row] == nil, counts.count >= Self.mostRows { row.reason = "…" }
            counts[row, default: 0] += 1
            return
        }
        for part in outcome.counts where filter.admits(part.kind) {
            counts[Row(kind: OutcomeLine.name(part.kind), status: 0, reason: ""), default: 0] += Int(part.tokens)
        }
    }

    /// One line for each row, the most frequent first.
    func lines(asJSON: Bool) -> [UInt8] {
        let rows = counts.sorted { one, other in
            one.value != other.value
                ? one.value > other.value
                : (one.key.kind, one.key.status, one.key.reason)
                    < (other.key.kind, other.key.status, other.key.reason)
        }
        return rows.flatMap { row, count in asJSON ? Self.json(row, count) : Self.text(row, count) }
    }

    private static func json(_ row: Row, _ count: Int) -> [UInt8] {
        var line = JSONLine()
        line.append("outcome", row.kind)
        if row.status != 0 { line.append("status", row.status) }
        if !row.reason.isEmpty { line.append("reason", row.reason) }
        line.append("count", count)
        return line.line
    }

    private static func text(_ row: Row, _ count: Int) -> [UInt8] {
        let why = [row.status == 0 ? "" : "status \(row.status)", row.reason].filter { !$0.isEmpty }
        let columns = ["\(count)", row.kind, TerminalText.column(why.joined(separator: ", "))]
        return Array((columns.joined(separator: "  ") + "\n").utf8)
    }
}
