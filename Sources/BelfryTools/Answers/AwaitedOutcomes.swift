import PushSchemas

/// The outcomes of published records as they come: each token's counts once, however often it is told. Pure.
struct AwaitedOutcomes {
    private struct Place: Hashable {
        var partition: Int32
        var offset: Int64
    }

    private enum Record {
        /// `seen` has a bit for each token that has its outcome.
        case open(tokens: Int, seen: [UInt64])
        case done
    }

    /// Tokens of a record that is known by its request id alone, at most.
    private static let mostTokens = 10_000

    private let topic: String
    /// Set before a record is stored.
    var requestID = ""
    private var records: [Place: Record] = [:]
    /// Some records are stored at unknown places: all with the request's id may be those.
    private var hasUnplaced = false
    private(set) var counts = OutcomeCounts()
    /// Tokens without an outcome.
    private(set) var missing = 0
    /// Tokens whose device does not get the notification, or for which that is not known.
    private(set) var failed = 0

    /// - Parameter topic: of the requests.
    init(topic: String) {
        self.topic = topic
    }

    var isComplete: Bool { missing == 0 }

    /// The lowest offset with tokens without an outcome, of each partition that has one.
    var unfinished: [Int32: Int64] {
        var lowest: [Int32: Int64] = [:]
        for (place, record) in records {
            guard case .open = record else { continue }
            lowest[place.partition] = min(place.offset, lowest[place.partition] ?? .max)
        }
        return lowest
    }

    /// A record was stored.
    ///
    /// - Parameter offset: negative: the answer with the place was lost, and the record is known by its request id.
    mutating func expect(partition: Int32, offset: Int64, tokens: Int) {
        missing += tokens
        if partition < 0 || offset < 0 {
            hasUnplaced = true
        } else {
            records[Place(partition: partition, offset: offset)] = .open(tokens: tokens, seen: [])
        }
    }

    /// Counts an outcome, unless it is of another record or was counted before.
    mutating func takeOutcome(_ outcome: PushOutcome) {
        guard outcome.sourceTopic == topic, !isComplete else { return }
        let place = Place(partition: outcome.sourcePartition, offset: outcome.sourceOffset)
        switch records[place] {
        case .done?:
            break
        case .open(let tokens, let seen)?:
            records[place] = count(outcome, tokens: tokens, seen: seen)
        case nil where hasUnplaced && outcome.requestID == requestID:
            let tokens = outcome.kind == .summary ? Self.tokens(of: outcome) : Self.mostTokens
            records[place] = count(outcome, tokens: tokens, seen: [])
        case nil:
            break
        }
    }

    private mutating func count(_ outcome: PushOutcome, tokens: Int, seen: [UInt64]) -> Record {
        let outcome = Self.isOfWholeRecord(outcome) ? Self.summary(outcome.kind, tokens: tokens) : outcome
        if outcome.kind == .summary {
            counts.count(outcome)
            for part in outcome.counts where part.kind.isFailure { failed += Int(part.tokens) }
            missing -= min(missing, tokens - Self.bits(seen))
            return .done
        }
        var seen = seen
        let (word, bit) = (Int(outcome.tokenIndex) / 64, UInt64(1) << (UInt64(outcome.tokenIndex) % 64))
        guard Int(outcome.tokenIndex) < tokens else { return .open(tokens: tokens, seen: seen) }
        if seen.count <= word { seen += Array(repeating: 0, count: word + 1 - seen.count) }
        guard seen[word] & bit == 0 else { return .open(tokens: tokens, seen: seen) }
        seen[word] |= bit
        counts.count(outcome)
        if outcome.kind.isFailure { failed += 1 }
        missing -= 1
        return Self.bits(seen) == tokens ? .done : .open(tokens: tokens, seen: seen)
    }

    private static func bits(_ words: [UInt64]) -> Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// The worker could not read the record: there is no token to name.
    private static func isOfWholeRecord(_ outcome: PushOutcome) -> Bool {
        outcome.kind == .deadLettered && outcome.token.isEmpty
    }

    private static func summary(_ kind: PushOutcomeKind, tokens: Int) -> PushOutcome {
        var count = PushOutcomeCount()
        count.kind = kind
        count.tokens = UInt32(tokens)
        return .with {
            $0.kind = .summary
            $0.counts = [count]
        }
    }

    private static func tokens(of summary: PushOutcome) -> Int { summary.counts.reduce(0) { $0 + Int($1.tokens) } }
}
