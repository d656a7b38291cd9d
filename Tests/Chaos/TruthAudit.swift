import LocalPipeline
import PipelineCore

/// Compares what the gateway accepted with the books, and its order with what is promised.
///
/// Memory: 24 bytes per acceptance while it sorts them by token.
struct TruthAudit {
    private(set) var accepted = 0
    private(set) var duplicates = 0
    private(set) var resends = 0
    /// See ``OrderAudit/excused``; and late because a move did not come about, or was refused.
    private(set) var excused = 0
    /// See ``OrderAudit/handedOver``.
    private(set) var handedOver = 0
    /// Acceptances behind newer ones that can be the gateway's doing: see ``OrderAudit/isLateOnly``.
    private(set) var late = 0
    /// Acceptances that nothing allows: repetitions of what was stored as done, and notifications sent while no worker
    /// might send; and such copies and sendings of moved records.
    private(set) var excess = 0
    /// Of the others, repetitions of what had its outcome so long ago that it should have been stored as done: see
    /// ``RepeatAudit``. And moved records that were sent, see ``MoveAudit/sent``.
    private(set) var unstored = 0
    /// See ``MoveAudit/unstored``.
    private(set) var unstoredMoves = 0
    /// By kind of violation.
    private(set) var violations: [String: Int] = [:]
    /// The first few, in words.
    private(set) var examples: [String] = []
    /// The first few of ``unstored``, in words.
    private(set) var unstoredExamples: [String] = []
    /// The first few of those that came late, which are no violation unless they are too many.
    private var lateExamples: [String] = []

    private static let exampleLimit = 10

    /// An acceptance, as kept until all are sorted.
    private struct Acceptance {
        /// A device's token in a lane, of which none keeps an order with another; tokens differ by the generation.
        var row: UInt64
        var number: UInt32
        var unixSeconds: UInt32

        init(_ record: AcceptedLogFile.Record, in lane: RequestLane) {
            row = UInt64(lane.rank) << 40 | UInt64(record.device) << 8 | UInt64(record.generation)
            number = record.mark
            unixSeconds = record.unixSeconds
        }

        var device: UInt32 { UInt32(truncatingIfNeeded: row >> 8) }
    }

    var orderViolations: Int { violations.values.reduce(0, +) }

    /// - Parameters:
    ///   - file: see ``AcceptedLogFile``.
    ///   - books: told every acceptance.
    ///   - commits: what the broker had stored of the workers' progress, and when.
    ///   - ends: when partitions changed hands.
    ///   - handovers: when the broker let two owners of a partition send side by side.
    ///   - refusals: how many good notifications the gateway was made to refuse; as many may be accepted late.
    ///   - refusedMoves: when workers could not move a record.
    init(
        file: String,
        books: inout ChaosBooks,
        commits: CommitHistory,
        ends: OwnershipEnds,
        handovers: Handovers,
        refusals: Int,
        refusedMoves: RefusedMoves = RefusedMoves()
    ) throws {
        var topics: [[Acceptance]] = []
        var indices: [Int?] = []
        let known = books.stream.topics
        note(MoveAudit(books, commits, ends))
        var repeats = RepeatAudit(commits.repeatBounds, ends: ends, log: books.log)
        var outcomesTold = 0
        var copies = books.moves.inLog.sorted { $0.times.met < $1.times.met }[...]
        try AcceptedLogFile.read(file) { names in
            indices = names.map { known.firstIndex(of: $0) }
            topics = Array(repeating: [], count: names.count)
        } _: { record in
            guard indices.indices.contains(record.topic), let topic = indices[record.topic] else {
                throw ChaosError("\(file) names topic \(record.topic), which it does not list")
            }
            let repeated = books.noteAccepted(number: record.mark, device: record.device, topic: topic)
            while outcomesTold < books.outcomesMet {
                let outcome = books.outcome(met: outcomesTold)
                guard outcome.second + commits.delaySeconds <= record.unixSeconds else { break }
                repeats.noteOutcome(
                    number: outcome.number,
                    copy: outcome.copy,
                    token: outcome.token,
                    second: outcome.second
                )
                outcomesTold += 1
            }
            while let next = copies.first, next.times.met + commits.delaySeconds <= record.unixSeconds {
                repeats.noteCopy(number: next.copy.number, second: next.times.met)
                copies.removeFirst()
            }
            let token = books.token(number: record.mark, device: record.device, topic: topic)
            let isAllowed =
                token.map { repeats.accepts(number: record.mark, token: $0, second: record.unixSeconds) } ?? true
            judge(repeated, isAllowed, known[topic], record, commits)
            topics[record.topic].append(Acceptance(record, in: books.sendingLane(of: record.mark)))
        }
        for (index, list) in topics.enumerated() {
            accepted += list.count
            if let topic = indices[index] { audit(list, topic: topic, books, commits, ends, handovers, refusedMoves) }
        }
        if late > refusals {
            violations["late", default: 0] += late - refusals
            examples += lateExamples
        }
    }

    /// A notification that is not behind its cursor and not marked done may be sent again, and nothing else; nothing at
    /// all may be sent for long while commits are not answered.
    ///
    /// - Parameter isAllowed: see ``RepeatAudit``.
    private mutating func judge(
        _ repeated: NotificationPlace?,
        _ isAllowed: Bool,
        _ topic: String,
        _ record: AcceptedLogFile.Record,
        _ commits: CommitHistory
    ) {
        let isDone =
            repeated.map {
                commits.isDone($0.position, topic: topic, partition: $0.partition, before: record.unixSeconds)
            } ?? false
        let acceptance = "number \(record.mark), device \(record.device), accepted at \(record.unixSeconds)"
        if isDone || commits.isUnpermitted(at: record.unixSeconds) {
            excess += 1
            guard examples.count < Self.exampleLimit else { return }
            let reason = isDone ? "was stored as done before" : "was sent while no commit was answered"
            examples.append("invariant 3: \(acceptance), \(reason)")
        } else if !isAllowed {
            unstored += 1
            guard unstoredExamples.count < Self.exampleLimit else { return }
            unstoredExamples.append("invariant 3: \(acceptance), had its outcome long before others began with it")
        }
    }

    private mutating func audit(
        _ list: [Acceptance],
        topic: Int,
        _ books: ChaosBooks,
        _ commits: CommitHistory,
        _ ends: OwnershipEnds,
        _ handovers: Handovers,
        _ refusedMoves: RefusedMoves
    ) {
        // Sorted by token in a lane, and for one of these by when it was accepted.
        let order = list.indices.sorted { (list[$0].row, $0) < (list[$1].row, $1) }
        var start = 0
        while start < order.count {
            let row = list[order[start]].row
            let end = order[start...].firstIndex { list[$0].row != row } ?? order.count
            var acceptances = Self.inKnownOrder(order[start..<end].map { list[$0] }, of: topic, books)
            start = end
            guard let first = acceptances.first else { continue }
            let (device, lane) = (first.device, books.sendingLane(of: first.number))
            var audit = Self.orderAudit(acceptances, of: device, topic: topic, books, commits, handovers)
            var (lateByMoves, unmoved) = (0, 0)
            if lane == .urgent, books.quotas[topic] != nil {
                let numbers = Self.unmoved(in: audit, acceptances, commits, refusedMoves)
                if !numbers.isEmpty {
                    unmoved = numbers.count
                    acceptances.removeAll { numbers.contains($0.number) }
                    audit = Self.orderAudit(acceptances, of: device, topic: topic, books, commits, handovers)
                }
                if audit.isLateOnly {
                    lateByMoves = audit.violations.count { violation in
                        Self.mayBeLateByMove(violation, acceptances, topic: topic, books, commits, ends)
                    }
                }
            }
            excused += unmoved
            let token = "\(books.stream.topics[topic]), device \(device), \(lane)"
            note(audit, token, acceptances, lateByMoves: lateByMoves)
        }
    }

    /// - Parameter acceptances: of one token in a lane.
    private static func orderAudit(
        _ acceptances: [Acceptance],
        of device: UInt32,
        topic: Int,
        _ books: ChaosBooks,
        _ commits: CommitHistory,
        _ handovers: Handovers
    ) -> OrderAudit {
        let name = books.stream.topics[topic]
        let hasMoved = acceptances.contains { books.moves.contains($0.number) }
        return OrderAudit(acceptances.map(\.number)) { number in
            books.hasEnded(number: number, device: device, topic: topic)
        } isDone: { number, place in
            guard let log = books.place(number: number, device: device, topic: topic) else { return false }
            let second = acceptances[place].unixSeconds
            return commits.mayBeDone(log.position, topic: name, partition: log.partition, by: second)
        } handover: { place in
            // All of one token in a lane are in one partition.
            guard
                let log = books.place(number: acceptances[place].number, device: device, topic: topic),
                let span = handovers.span(log.partition, at: acceptances[place].unixSeconds)
            else { return nil }
            return acceptances.firstIndex { $0.unixSeconds >= span.lowerBound }
        } order: { number in
            // A copy has its turn where it stands.
            hasMoved ? books.sendingOffset(of: number) : Int64(number)
        }
    }

    /// The records that may have come behind newer ones because they could not be moved. Their order is not looked at.
    private static func unmoved(
        in audit: OrderAudit,
        _ acceptances: [Acceptance],
        _ commits: CommitHistory,
        _ refusedMoves: RefusedMoves
    ) -> Set<UInt32> {
        guard !refusedMoves.isEmpty else { return [] }
        let reach = commits.repeatBounds.reachSeconds
        let numbers = audit.violations.compactMap { violation -> UInt32? in
            guard case .overtaken(let number, _) = violation,
                let late = acceptances.first(where: { $0.number == number }),
                refusedMoves.explain(late.unixSeconds, within: reach)
            else { return nil }
            return number
        }
        return Set(numbers)
    }

    /// The acceptances of a token in a lane whose order is known.
    ///
    /// Of a record that was moved an acceptance may be that of a copy, or that of the record itself, which a former
    /// owner sent. There is no doubt where there was one copy and one acceptance, and no other outcome.
    private static func inKnownOrder(_ row: [Acceptance], of topic: Int, _ books: ChaosBooks) -> [Acceptance] {
        guard !books.moves.isEmpty else { return row }
        return row.filter { acceptance in
            let number = acceptance.number
            guard books.moves.contains(number) else { return true }
            return books.place(number: number, device: acceptance.device, topic: topic) != nil
                && !books.hasEnded(number: number, device: acceptance.device, topic: topic)
                && row.count { $0.number == number } == 1
        }
    }

    /// A record that was to be moved, and whose copy never came into the log, may be sent by the next owner. That is
    /// behind newer ones that the former owner let stay, and these come again.
    private static func mayBeLateByMove(
        _ violation: OrderAudit.Violation,
        _ acceptances: [Acceptance],
        topic: Int,
        _ books: ChaosBooks,
        _ commits: CommitHistory,
        _ ends: OwnershipEnds
    ) -> Bool {
        guard case .overtaken(let number, let newer) = violation,
            let late = acceptances.first(where: { $0.number == number }),
            let early = acceptances.first(where: { $0.number == newer })?.unixSeconds,
            let place = books.place(number: number, device: late.device, topic: topic)
        else { return false }
        let start = early - min(early, commits.delaySeconds)
        return start <= late.unixSeconds && ends.contains(place.partition, in: start...late.unixSeconds)
    }

    private mutating func note(_ moves: MoveAudit) {
        excess += moves.excess
        unstoredMoves += moves.unstored
        unstored += moves.sent
        examples += moves.examples.prefix(Self.exampleLimit)
        unstoredExamples += moves.sentExamples.prefix(Self.exampleLimit)
    }

    /// - Parameter lateByMoves: of those that came late, they had a right to.
    private mutating func note(
        _ audit: OrderAudit,
        _ token: String,
        _ acceptances: [Acceptance],
        lateByMoves: Int
    ) {
        duplicates += audit.duplicates
        resends += audit.resends
        excused += audit.excused + lateByMoves
        handedOver += audit.handedOver
        guard !audit.isLateOnly else {
            late += audit.late - lateByMoves
            if audit.late > lateByMoves, lateExamples.count < Self.exampleLimit {
                lateExamples.append("order: \(token): \(audit.late) late in \(Self.story(acceptances))")
            }
            return
        }
        for violation in audit.violations {
            violations[violation.name, default: 0] += 1
            if examples.count < Self.exampleLimit {
                examples.append("order: \(token): \(violation) in \(Self.story(acceptances))")
            }
        }
    }

    private static func story(_ acceptances: [Acceptance]) -> String {
        acceptances.map { "\($0.number)@\($0.unixSeconds)" }.joined(separator: " ")
    }
}
