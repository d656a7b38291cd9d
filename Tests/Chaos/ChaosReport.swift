import LocalPipeline
import PushSchemas

/// The result of a run, and the judgement.
struct ChaosReport {
    var transport: PipelineTransport
    var seed: UInt64
    var seconds: Int
    var books: ChaosBooks
    var truth: TruthAudit
    var tokens: TokenTrial.Result
    /// Different ones, as the sandbox counts them.
    var gatewayDistinct: Int
    /// As workers count: see ``RoleFleet/sum(of:metric:by:)``.
    var resent: Int
    var presumedWrongCounted: Int
    /// The most notifications that a worker was seen to have in flight, at one look a second, times the largest frame.
    var maxUnconfirmedBytes: Int?
    /// Disturbances of the pipeline, and the number of each.
    var faults: [String: Int]
    var workersStarted: Int
    var longestOutageSeconds: Double
    /// By worker: see ``WorkerMeter/longestStandstills``.
    var standstillSeconds: [String: Double]
    /// See ``ChaosOptions/mayPresumeWrongly``.
    var mayPresumeWrongly: Bool
    /// Other problems of the run.
    var complaints: [String]

    /// Without an outcome, or claimed as proven and never accepted.
    var lost: Int { books.lost }

    /// Presumed and never accepted, or found out by the worker when an answer came late.
    var presumedWrong: Int { presumedWrongCounted + books.presumedWrongly }

    /// Acceptances that invariant 3 does not allow.
    var duplicatesExcess: Int { truth.excess + truth.unstoredMoves + truth.unstored }

    /// A late answer has what was presumed sent again, though it had its outcome.
    private var mayRepeatOutcomes: Bool { mayPresumeWrongly && presumedWrong > 0 }

    var passes: Bool {
        let repetitions = truth.excess + truth.unstoredMoves + (mayRepeatOutcomes ? 0 : truth.unstored)
        return lost == 0 && truth.orderViolations == 0 && books.published == books.outcomes && repetitions == 0
            && (mayPresumeWrongly || presumedWrong == 0) && tokens.passes && complaints.isEmpty
    }
}

extension ChaosReport {
    /// Compares the books with the truth.
    ///
    /// - Parameters:
    ///   - acceptedLog: see ``AcceptedLogFile``.
    ///   - stats: of the sandbox, when nothing was on its way any more.
    ///   - fleets: all have stopped.
    ///   - actions: what was done, and how often.
    init(
        options: ChaosOptions,
        books: ChaosBooks,
        acceptedLog: String,
        commits: CommitHistory,
        stats: SandboxControl.Stats,
        tokens: TokenTrial.Result,
        fleets: ChaosFleets,
        actions: [String: Int],
        longestOutage: Duration
    ) throws {
        var books = books
        let refusedMoves = fleets.refusedMoves
        let truth = try TruthAudit(
            file: acceptedLog,
            books: &books,
            commits: commits,
            ends: OwnershipEnds(fleets.ownershipEnds),
            handovers: fleets.handovers(
                Handovers.Bounds(delaySeconds: commits.delaySeconds, patienceSeconds: commits.patienceSeconds)
            ),
            refusals: Self.refusals(faults: stats.faults, rejected: stats.rejected, over: options.transport),
            refusedMoves: refusedMoves
        )
        self.init(
            transport: options.transport,
            seed: options.seed,
            seconds: options.seconds,
            books: books,
            truth: truth,
            tokens: tokens,
            gatewayDistinct: stats.distinct,
            resent: fleets.sum(of: "resent", metric: WorkerMeter.counters[0]),
            presumedWrongCounted: fleets.sum(of: "presumed-wrong", metric: WorkerMeter.counters[1]),
            maxUnconfirmedBytes: fleets.meter.mostInFlight.map { $0 * Pump.largestFrameBytes },
            faults: actions.merging(stats.faults) { $0 + $1 },
            workersStarted: fleets[.worker].startedCount,
            longestOutageSeconds: longestOutage / .seconds(1),
            standstillSeconds: fleets.meter.longestStandstills.mapValues { $0 / .seconds(1) },
            mayPresumeWrongly: options.mayPresumeWrongly,
            complaints: fleets.complaints + Self.complaints(of: books, truth, commits, accepted: stats.accepted)
                + Self.moveComplaints(books, refusedMoves) + Self.unproven(books.kinds, over: options.transport)
                + tokens.complaints
        )
        if !mayRepeatOutcomes { complaints += truth.unstoredExamples }
    }

    /// Good notifications that the gateway was made to refuse for good; as many may be accepted late.
    ///
    /// - Parameters:
    ///   - faults: strikes of each.
    ///   - rejected: by status, and over HTTP/2 reason.
    static func refusals(faults: [String: Int], rejected: [String: Int], over transport: PipelineTransport) -> Int {
        switch transport {
        case .binary:
            faults["error-response"] ?? 0
        case .http2:
            rejected.reduce(0) { sum, entry in
                sum + (FaultMenu.finalStatuses.contains { entry.key.hasPrefix($0) } ? entry.value : 0)
            }
        }
    }

    /// Complaints about outcomes that their transport does not allow: over HTTP/2 each is proven by an answer.
    static func unproven(_ kinds: [PushOutcomeKind: Int], over transport: PipelineTransport) -> [String] {
        guard transport == .http2 else { return [] }
        return [OutcomeKind.presumed, .unknown].compactMap { kind in
            kinds[kind.message].map { "\($0) notifications are \(kind.name), which no answer over HTTP/2 leads to" }
        }
    }

    /// So many records that do not fit into the quota of their app prove that it is kept: one may be sent to probe an
    /// app that had stopped working.
    static let provingRecords = 10

    /// Complaints about records that workers moved out of the urgent lane, or should have.
    ///
    /// - Parameter refusedMoves: when workers could not move a record, which then stays.
    static func moveComplaints(_ books: ChaosBooks, _ refusedMoves: RefusedMoves = RefusedMoves()) -> [String] {
        var complaints: [String] = []
        if books.movedWithoutQuota > 0 {
            complaints.append("\(books.movedWithoutQuota) copies are of records of apps without a quota")
        }
        if books.movedFromNowhere > 0 {
            complaints.append("\(books.movedFromNowhere) copies name a place where nothing was published")
        }
        if books.movedElsewhere > 0 {
            complaints.append("\(books.movedElsewhere) copies stand in another partition than their key leads to")
        }
        if books.openCopies > 0 {
            complaints.append("\(books.openCopies) notifications have an outcome, and none where a worker moved them")
        }
        if books.moves.isEmpty, books.beyondQuota >= provingRecords {
            complaints.append("no record was moved, and \(books.beyondQuota) do not fit into the quota of their app")
        } else if refusedMoves.isEmpty {
            let (beyond, stayed) = (books.beyondQuota, books.stayedBeyondQuota)
            if stayed > max(provingRecords, beyond / 2) {
                complaints.append("\(stayed) of \(beyond) records that do not fit into the quota of their app stayed")
            }
        }
        return complaints
    }

    private static func complaints(
        of books: ChaosBooks,
        _ truth: TruthAudit,
        _ commits: CommitHistory,
        accepted: Int
    ) -> [String] {
        var complaints: [String] = []
        if books.disordered > 0 {
            complaints.append("\(books.disordered) records stand out of order in the broker's log")
        }
        if truth.accepted != accepted {
            complaints.append("\(accepted) were accepted, and \(truth.accepted) stand in the log of them")
        }
        complaints += truth.examples
        complaints += books.examplesOfMissing(limit: 10).map { "no outcome: \($0)" }
        if commits.unreadable > 0 {
            complaints.append("\(commits.unreadable) committed positions have metadata that no version writes")
        }
        if books.stream.usesLanes {
            complaints += RequestLane.allCases.filter { books.publishedByLane[$0] ?? 0 == 0 }.map {
                "nothing was published into \($0): this run proves nothing of that lane"
            }
        }
        if books.strange > 0 {
            complaints.append("\(books.strange) outcomes or acceptances belong to nothing published")
        }
        return complaints
    }
}
