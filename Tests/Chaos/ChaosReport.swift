import LocalPipeline

/// The result of a run, and the judgement.
struct ChaosReport {
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
    /// Something may have kept a gateway from reading or answering for longer than the window: what was presumed may be
    /// wrong.
    var mayPresumeWrongly: Bool
    /// Other problems of the run.
    var complaints: [String]

    /// Without an outcome, or claimed as proven and never accepted.
    var lost: Int { max(0, books.missing) + books.confirmedWrongly }

    /// Presumed and never accepted, or found out by the worker when an answer came late.
    var presumedWrong: Int { presumedWrongCounted + books.presumedWrongly }

    var passes: Bool {
        lost == 0 && truth.orderViolations == 0 && books.published == books.outcomes && truth.excess == 0
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
        let truth = try TruthAudit(
            file: acceptedLog,
            books: &books,
            commits: commits,
            refusals: stats.faults["error-response"] ?? 0
        )
        self.init(
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
            mayPresumeWrongly: options.isWithholding || options.isBusy,
            complaints: fleets.complaints + Self.complaints(of: books, truth, commits, accepted: stats.accepted)
                + tokens.complaints
        )
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
        if books.strange > 0 {
            complaints.append("\(books.strange) outcomes or acceptances belong to nothing published")
        }
        return complaints
    }
}
