import LocalPipeline
import PushSchemas

/// The demo's result.
public struct DemoReport: Sendable {
    public var books: Books
    public var gateway: SandboxControl.Stats
    public var devices: DeviceBooks
    /// The urgent notification was accepted before the end of the backlog in bulk that was published before it.
    public var overtook: Bool
    public var tombstones: Int
    public var resent: Int
    public var seconds: Double
    /// Other problems; empty if there were none.
    public var complaints: [String]

    /// Notifications that are not accounted for: without an outcome, or claimed but never accepted.
    public var lost: Int {
        max(0, books.missing) + max(0, books.claimed - gateway.distinct)
    }

    /// Accepted by the gateway more than once.
    public var duplicates: Int { gateway.accepted - gateway.distinct }

    /// Published equals outcomes, and nothing is lost. The sandbox accepted exactly what the worker claims.
    public var balances: Bool {
        books.published == books.outcomes.count && lost == 0 && gateway.distinct == books.claimed && complaints.isEmpty
    }

    /// Complaints about outcomes that their transport does not allow: over HTTP/2 an answer proves each notification's
    /// fate, so that none is presumed or unknown.
    static func unproven(_ books: Books, over transport: PipelineTransport) -> [String] {
        guard transport == .http2 else { return [] }
        return [OutcomeKind.presumed, .unknown].compactMap { kind in
            let count = books.count(kind)
            return count == 0 ? nil : "\(count) notifications are \(kind.name), which no answer over HTTP/2 leads to"
        }
    }

    /// A table for people.
    public var table: String {
        var rows = [("published", "\(books.published)")]
        for kind in OutcomeKind.allCases where books.count(kind) > 0 {
            rows.append(("  \(kind.name)", "\(books.count(kind))"))
            guard kind == .rejected else { continue }
            for (reason, count) in books.rejections.sorted(by: { $0.key < $1.key }) {
                rows.append(("    \(reason)", "\(count)"))
            }
        }
        rows += [
            ("accepted by the gateway", "\(gateway.accepted)"), ("  distinct", "\(gateway.distinct)"),
            ("languages", devices.languageText),
            ("badges", "\(devices.rightNumbers) right · \(devices.wrongNumbers) wrong"),
            (
                "refused",
                gateway.rejected.sorted { $0.key < $1.key }.map { "status \($0.key): \($0.value)" }.joined(
                    separator: ", "
                )
            ),
            ("discarded after a refusal", "\(gateway.discarded)"), ("sent again", "\(resent)"),
            ("urgent before bulk", overtook ? "yes" : "NO"),
            ("tombstones", "\(tombstones)"), ("lost", "\(lost)"), ("duplicates", "\(duplicates)"),
            ("seconds", "\((seconds * 10).rounded() / 10)"), ("the books balance", balances ? "yes" : "NO"),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2) + value
        }.joined(separator: "\n")
    }

    /// One line for programs.
    public var json: String {
        let outcomes = OutcomeKind.allCases.map { "\"\($0.name)\":\(books.count($0))" }.joined(separator: ",")
        let rejected = gateway.rejected.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(
            separator: ","
        )
        let languages = PlannedLanguage.allCases.map { "\"\($0.rawValue)\":\(devices.seen[$0] ?? 0)" }
        return "{\"published\":\(books.published),\"outcomes\":{\(outcomes)},"
            + "\"gateway\":{\"accepted\":\(gateway.accepted),\"distinct\":\(gateway.distinct),"
            + "\"rejected\":{\(rejected)},\"discarded\":\(gateway.discarded)},"
            + "\"languages\":{\(languages.joined(separator: ","))},"
            + "\"badges\":{\"right\":\(devices.rightNumbers),\"wrong\":\(devices.wrongNumbers)},"
            + "\"overtook\":\(overtook),"
            + "\"tombstones\":\(tombstones),\"lost\":\(lost),\"duplicates\":\(duplicates),\"resent\":\(resent),"
            + "\"seconds\":\((seconds * 100).rounded() / 100)}"
    }
}
