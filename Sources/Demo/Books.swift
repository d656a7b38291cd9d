import PushSchemas

/// The books: what was published, and what became of it, deduplicated by source coordinates.
public struct Books: Sendable {
    /// Place of a notification: its record's place, and the token's position in it.
    public struct Coordinates: Hashable, Sendable {
        public var partition: Int32
        public var offset: Int64
        public var token: UInt32

        public init(partition: Int32, offset: Int64, token: UInt32) {
            self.partition = partition
            self.offset = offset
            self.token = token
        }
    }

    /// Notifications published, by what the broker acknowledged.
    public private(set) var published = 0
    /// Outcome by notification; the first word counts.
    public private(set) var outcomes: [Coordinates: PushOutcomeKind] = [:]
    /// Outcome messages about notifications that had one already.
    public private(set) var repeated = 0

    public init() {}

    public mutating func publish(notifications: Int) {
        published += notifications
    }

    public mutating func note(_ outcome: PushOutcome) {
        let coordinates = Coordinates(
            partition: outcome.sourcePartition,
            offset: outcome.sourceOffset,
            token: outcome.tokenIndex
        )
        if outcomes[coordinates] == nil {
            outcomes[coordinates] = outcome.kind
        } else {
            repeated += 1
        }
    }

    /// Published and without an outcome.
    public var missing: Int { published - outcomes.count }

    public func count(_ kind: PushOutcomeKind) -> Int {
        outcomes.values.reduce(0) { $0 + ($1 == kind ? 1 : 0) }
    }

    /// Notifications that the gateway accepted, by the worker's word.
    public var claimed: Int { count(.confirmed) + count(.presumed) }
}

/// The demo's result.
public struct DemoReport: Sendable {
    public var books: Books
    public var gateway: SandboxControl.Stats
    public var tombstones: Int
    public var resent: Int
    public var seconds: Double
    /// Other problems; empty if there were none.
    public var complaints: [String]

    /// Notifications that nobody can account for: without an outcome, or claimed but never accepted.
    public var lost: Int {
        max(0, books.missing) + max(0, books.claimed - gateway.distinct)
    }

    /// Accepted by the gateway more than once.
    public var duplicates: Int { gateway.accepted - gateway.distinct }

    /// Published equals outcomes, and nothing is lost. The sandbox accepted exactly what the worker claims.
    public var balances: Bool {
        books.published == books.outcomes.count && lost == 0 && gateway.distinct == books.claimed && complaints.isEmpty
    }

    private static let kinds: [(PushOutcomeKind, String)] = [
        (.confirmed, "confirmed"), (.presumed, "presumed"), (.unknown, "unknown"), (.rejected, "rejected"),
        (.tombstoned, "tombstoned"), (.expired, "expired"), (.superseded, "superseded"), (.duplicate, "duplicate"),
        (.deadLettered, "dead_lettered"),
    ]

    /// A table for people.
    public var table: String {
        var rows = [("published", "\(books.published)")]
        for (kind, name) in Self.kinds where books.count(kind) > 0 {
            rows.append(("  \(name)", "\(books.count(kind))"))
        }
        rows += [
            ("accepted by the gateway", "\(gateway.accepted)"), ("  distinct", "\(gateway.distinct)"),
            (
                "refused",
                gateway.rejected.sorted { $0.key < $1.key }.map { "status \($0.key): \($0.value)" }.joined(
                    separator: ", "
                )
            ),
            ("discarded after a refusal", "\(gateway.discarded)"), ("sent again", "\(resent)"),
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
        let outcomes = Self.kinds.map { "\"\($0.1)\":\(books.count($0.0))" }.joined(separator: ",")
        let rejected = gateway.rejected.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(
            separator: ","
        )
        return "{\"published\":\(books.published),\"outcomes\":{\(outcomes)},"
            + "\"gateway\":{\"accepted\":\(gateway.accepted),\"distinct\":\(gateway.distinct),"
            + "\"rejected\":{\(rejected)},\"discarded\":\(gateway.discarded)},"
            + "\"tombstones\":\(tombstones),\"lost\":\(lost),\"duplicates\":\(duplicates),\"resent\":\(resent),"
            + "\"seconds\":\((seconds * 100).rounded() / 100)}"
    }
}
