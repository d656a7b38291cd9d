import PipelineCore

/// Compares what the gateway accepted with the books, and its order with what is promised.
///
/// Memory: 16 bytes per acceptance while it sorts them by token.
struct TruthAudit {
    private(set) var accepted = 0
    private(set) var duplicates = 0
    private(set) var resends = 0
    /// See ``OrderAudit/excused``.
    private(set) var excused = 0
    /// Acceptances behind newer ones that can be the gateway's doing: see ``OrderAudit/isLateOnly``.
    private(set) var late = 0
    /// Acceptances that nothing allows: repetitions of what was stored as done, and what was sent while nobody might
    /// send.
    private(set) var excess = 0
    /// By kind of violation.
    private(set) var violations: [String: Int] = [:]
    /// The first few, in words.
    private(set) var examples: [String] = []

    private static let exampleLimit = 10

    var orderViolations: Int { violations.values.reduce(0, +) }

    /// - Parameters:
    ///   - file: see ``AcceptedLogFile``.
    ///   - books: told every acceptance.
    ///   - commits: what the broker had stored of the workers' progress, and when.
    ///   - refusals: how many good notifications the gateway was made to refuse; as many may be accepted late.
    init(file: String, books: inout ChaosBooks, commits: CommitHistory, refusals: Int) throws {
        // By topic; the token in the upper half, the number in the lower.
        var topics: [[UInt64]] = []
        var indices: [Int?] = []
        let known = books.stream.topics
        let hashes = known.map { TopicHash(bundleID: $0, environment: "") }
        try AcceptedLogFile.read(file) { names in
            indices = names.map { known.firstIndex(of: $0) }
            topics = Array(repeating: [], count: names.count)
        } _: { record in
            guard indices.indices.contains(record.topic), let topic = indices[record.topic] else {
                throw ChaosError("\(file) names topic \(record.topic), which it does not list")
            }
            let repeated = books.noteAccepted(number: record.mark, device: record.device, topic: topic)
            judge(repeated, hashes[topic], record, commits)
            let token = UInt64(record.device) << 8 | UInt64(record.generation)
            topics[record.topic].append(token << 32 | UInt64(record.mark))
        }
        for (index, list) in topics.enumerated() {
            accepted += list.count
            if let topic = indices[index] { audit(list, topic: topic, books) }
        }
        if late > refusals { violations["late", default: 0] += late - refusals }
    }

    /// A notification that is not behind its cursor and not marked done may be sent again, and nothing else; nothing at
    /// all may be sent for long while commits are not answered.
    private mutating func judge(
        _ repeated: RepeatedNotification?,
        _ topic: TopicHash,
        _ record: AcceptedLogFile.Record,
        _ commits: CommitHistory
    ) {
        let isDone =
            repeated.map {
                commits.isDone($0.position, topic: topic, partition: $0.partition, before: record.unixSeconds)
            } ?? false
        guard isDone || commits.isUnpermitted(at: record.unixSeconds) else { return }
        excess += 1
        guard examples.count < Self.exampleLimit else { return }
        examples.append(
            "invariant 3: number \(record.mark), device \(record.device), accepted at \(record.unixSeconds), "
                + (isDone ? "was stored as done before" : "was sent while no commit was answered")
        )
    }

    private mutating func audit(_ list: [UInt64], topic: Int, _ books: ChaosBooks) {
        // Sorted by token, and for one token by when it was accepted.
        let order = list.indices.sorted { (list[$0] >> 32, $0) < (list[$1] >> 32, $1) }
        var start = 0
        while start < order.count {
            let token = list[order[start]] >> 32
            var end = start
            while end < order.count, list[order[end]] >> 32 == token { end += 1 }
            let device = UInt32(token >> 8)
            let audit = OrderAudit(order[start..<end].map { UInt32(truncatingIfNeeded: list[$0]) }) { number in
                books.hasEnded(number: number, device: device, topic: topic)
            }
            note(audit, "\(books.stream.topics[topic]), device \(device)")
            start = end
        }
    }

    private mutating func note(_ audit: OrderAudit, _ token: String) {
        duplicates += audit.duplicates
        resends += audit.resends
        excused += audit.excused
        guard !audit.isLateOnly else {
            late += audit.late
            return
        }
        for violation in audit.violations {
            violations[violation.name, default: 0] += 1
            if examples.count < Self.exampleLimit { examples.append("order: \(token): \(violation)") }
        }
    }
}
