import LocalPipeline
import PipelineCore

/// Finds copies of moved records that nothing allows.
///
/// To move a record is to send it, and it is done when the copy stands in the log. So a further copy is a repetition,
/// and by the rules of the urgent lane: see ``RepeatAudit`` and ``CommitHistory``. So is a record that is sent as an
/// urgent one though it was moved, which its own outcome tells. An outage of the broker excuses more: it may have taken
/// a copy without saying so. So does a worker that has just lost the partition, or that stood still: it may learn of
/// its own notifications, and say so, long after another one has moved their record.
///
/// Pure.
struct MoveAudit {
    /// Copies of what was stored as done before, and such as were made while no worker might send. And records that
    /// were moved, stored as done, and sent.
    private(set) var excess = 0
    /// Further copies of records that should have been stored as done.
    private(set) var unstored = 0
    /// Of these two, in words.
    private(set) var examples: [String] = []
    /// Records that were moved, should have been stored as done, and were sent. What was presumed wrongly is sent again
    /// though it had its outcome.
    private(set) var sent = 0
    /// In words.
    private(set) var sentExamples: [String] = []

    private let books: ChaosBooks
    private let commits: CommitHistory
    private let ends: OwnershipEnds
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
        self.ends = ends
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
            if outcome.copy == 0, books.moves.contains(outcome.number) {
                let decided = books.decided(met: outcomesTold)
                noteSent(outcome.number, outcome.token, outcome.second, decided: decided)
            }
            outcomesTold += 1
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
    private mutating func noteSent(_ number: UInt32, _ token: Int, _ second: UInt32, decided: UInt32) {
        tellOfCopy(of: number, upTo: second)
        let isAllowed = repeats.handles(moved: number, token: token, second: second)
        defer { handledAt[number] = second }
        guard let origin = books.publishedPlace(of: number), !mayBeOfFormerOwner(origin.partition, second) else {
            return
        }
        let isDone = isStored(books.stream.record(number), origin, token: token, before: decided)
        let isRepeated = !isAllowed && !isNearOutage(number, second)
        guard isDone || isRepeated, accused.insert(number).inserted else { return }
        let sending = "invariant 3: number \(number) was sent by \(second)"
        if isDone {
            excess += 1
            examples.append("\(sending), and was stored as done before")
        } else {
            sent += 1
            sentExamples.append("\(sending), and had been moved long before")
        }
    }

    /// An outcome may be that of a former owner, which tells it when it has just lost the partition, or goes on after
    /// it stood still.
    private func mayBeOfFormerOwner(_ partition: RequestPartition, _ second: UInt32) -> Bool {
        let start = second - min(second, commits.repeatBounds.reachSeconds)
        return ends.contains(partition, in: start...second)
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
        // A record of which anything was done stays.
        let isDone = (0..<record.count).contains { token in
            isStored(record, copy.origin, token: token, before: times.created)
        }
        let move = "invariant 3: number \(copy.number), moved from \(copy.origin) at \(times.created)"
        if isDone || commits.isUnpermitted(at: times.created) {
            excess += 1
            examples.append("\(move), \(isDone ? "was stored as done before" : "while no commit was answered")")
        } else if !isAllowed, !isNearOutage(copy.number, times.met) {
            unstored += 1
            examples.append("\(move), had been moved or sent long before others began with it")
        }
    }

    /// Was a notification of a record stored as done so long before a time that no worker had a reason left to send it?
    private func isStored(
        _ record: RequestStream.Record,
        _ origin: RequestPlace,
        token: Int,
        before second: UInt32
    ) -> Bool {
        commits.isDone(
            DoneRanges.Position(offset: origin.offset, token: UInt32(token)),
            topic: books.stream.topics[record.topic],
            partition: origin.partition,
            before: second
        )
    }

    /// The broker was away between the last time that a record was moved or sent and another time, or just before; and
    /// that other time is not so long after it that producers had had all of their answers.
    private func isNearOutage(_ number: UInt32, _ second: UInt32) -> Bool {
        let former = handledAt[number] ?? second
        return commits.outages.contains { outage in
            outage.start <= second && former <= outage.end + Self.settlingSeconds
                && second <= outage.end + 2 * Self.settlingSeconds
        }
    }
}
