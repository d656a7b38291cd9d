import LocalPipeline
import PipelineCore

/// Finds copies of moved records that nothing allows.
///
/// To move a record is to send it, and it is done when the copy stands in the log. So a further copy is a repetition,
/// and by the rules of the urgent lane: see ``RepeatAudit`` and ``CommitHistory``. So is a record that is sent as an
/// urgent one though it was moved, which its own outcome tells. An outage of the broker excuses more: it may have taken
/// a copy without saying so.
///
/// Pure.
struct MoveAudit {
    /// Copies of what was stored as done before, and such as were made while no worker might send.
    private(set) var excess = 0
    /// Further copies of records that should have been stored as done, and such records that were sent.
    private(set) var unstored = 0
    /// In words.
    private(set) var examples: [String] = []
    /// In words, of ``unstored``.
    private(set) var unstoredExamples: [String] = []

    private let books: ChaosBooks
    private let commits: CommitHistory
    private var repeats: RepeatAudit
    private var arrivals: ArraySlice<(copy: MovedRecords.Copy, times: MovedRecords.Times)>
    private var outcomesTold = 0
    /// By number of the record: when it was moved or sent last, UNIX seconds.
    private var handledAt: [UInt32: UInt32] = [:]
    /// And when the last copy that was judged came into the log.
    private var metAt: [UInt32: UInt32] = [:]
    /// Records that were sent by no right: each counts once, not each of its tokens.
    private var accused: Set<UInt32> = []

    /// Time that clients take to find a broker again, and producers to repeat what they have no answer to.
    private static let settlingSeconds: UInt32 = 12

    /// - Parameters:
    ///   - commits: what the broker had stored of the workers' progress, and when.
    ///   - ends: when partitions changed hands.
    init(_ books: ChaosBooks, _ commits: CommitHistory, _ ends: OwnershipEnds) {
        self.books = books
        self.commits = commits
        let copies = books.moves.inLog
        let log = copies.isEmpty ? [] : books.log.filter { $0.partition.lane == .urgent }
        repeats = RepeatAudit(commits.repeatBounds, ends: ends, log: log)
        arrivals = copies.sorted { $0.times.met < $1.times.met }[...]
        guard !copies.isEmpty else { return }
        for (copy, times) in copies.sorted(by: { $0.times.created < $1.times.created }) {
            tell(upTo: times.created)
            judge(copy, times)
        }
        tell(upTo: .max)
    }

    /// Tells of outcomes that had been met by a time, and of copies that had been before.
    private mutating func tell(upTo second: UInt32) {
        while outcomesTold < books.outcomesMet {
            let outcome = books.outcome(met: outcomesTold)
            guard outcome.second <= second else { break }
            outcomesTold += 1
            if outcome.copy == 0, books.moves.contains(outcome.number) {
                noteSent(outcome.number, outcome.token, outcome.second)
            }
            repeats.noteOutcome(
                number: outcome.number,
                copy: outcome.copy,
                token: outcome.token,
                second: outcome.second
            )
        }
        while let next = arrivals.first, next.times.met < second {
            arrivals.removeFirst()
            repeats.noteCopy(number: next.copy.number, second: next.times.met)
        }
    }

    /// A record that has copies was sent as an urgent one, at the latest when its outcome was met.
    private mutating func noteSent(_ number: UInt32, _ token: Int, _ second: UInt32) {
        tellOfCopy(of: number, upTo: second)
        let isAllowed = repeats.handles(moved: number, token: token, second: second)
        defer { handledAt[number] = second }
        guard !isAllowed, !isNearOutage(number, second), accused.insert(number).inserted else { return }
        unstored += 1
        unstoredExamples.append("invariant 3: number \(number) was sent by \(second), and had been moved long before")
    }

    /// A former copy of a record may have come in the same second.
    private mutating func tellOfCopy(of number: UInt32, upTo second: UInt32) {
        guard let met = metAt[number], met <= second else { return }
        repeats.noteCopy(number: number, second: met)
    }

    private mutating func judge(_ copy: MovedRecords.Copy, _ times: MovedRecords.Times) {
        tellOfCopy(of: copy.number, upTo: times.created)
        let record = books.stream.record(copy.number)
        var isAllowed = true
        for token in 0..<record.count {
            let isFine = repeats.handles(moved: copy.number, token: token, second: times.created)
            isAllowed = isAllowed && isFine
        }
        defer {
            handledAt[copy.number] = times.created
            metAt[copy.number] = times.met
        }
        let isDone = commits.isDone(
            DoneRanges.Position(offset: copy.origin.offset, token: 0),
            topic: books.stream.topics[record.topic],
            partition: copy.origin.partition,
            before: times.created
        )
        let move = "invariant 3: number \(copy.number), moved from \(copy.origin) at \(times.created)"
        if isDone || commits.isUnpermitted(at: times.created) {
            excess += 1
            examples.append("\(move), \(isDone ? "was stored as done before" : "while no commit was answered")")
        } else if !isAllowed, !isNearOutage(copy.number, times.met) {
            unstored += 1
            unstoredExamples.append("\(move), had been moved or sent long before others began with it")
        }
    }

    /// The broker was away between the last time that a record was moved or sent and another time, or just before.
    private func isNearOutage(_ number: UInt32, _ second: UInt32) -> Bool {
        let former = handledAt[number] ?? second
        return commits.outages.contains { $0.start <= second && former <= $0.end + Self.settlingSeconds }
    }
}
