import Foundation

/// A bound on a measure of a scenario of `belfry-bench run worker`.
struct WorkerTarget {
    enum Bound: Equatable {
        case atMost(Double)
        case atLeast(Double)
        case below(Double)
    }

    /// The outcome of a target in a run.
    enum Verdict: String {
        case met
        case missed = "MISSED"
        /// The run was to measure the field, and has not: as bad as a miss.
        case notMeasured = "NOT MEASURED"
        /// Somebody asked for a run without it.
        case notAsked = "not asked for"
    }

    /// The field of the result that is judged.
    let field: String
    let bound: Bound
    /// That counts for the field; nil: it is measured in the timed rounds.
    var instrument: Instrument?

    /// A value keeps to the bound.
    func isMet(by value: Double) -> Bool {
        switch bound {
        case .atMost(let limit): value <= limit
        case .atLeast(let limit): value >= limit
        case .below(let limit): value < limit
        }
    }

    /// In words.
    var text: String {
        switch bound {
        case .atMost(let limit): "\(field) at most \(Self.text(limit))"
        case .atLeast(let limit): "\(field) at least \(Self.text(limit))"
        case .below(let limit): "\(field) below \(Self.text(limit))"
        }
    }

    private static func text(_ limit: Double) -> String {
        limit == limit.rounded() ? "\(Int(limit))" : "\(limit)"
    }

    /// The bounds of the scenarios that are judged.
    static let all: [ScenarioPlan.Name: [WorkerTarget]] = [
        .single: [
            WorkerTarget(field: "ratio", bound: .atMost(1.3)),
            WorkerTarget(field: "rate_ratio", bound: .atLeast(2.5)),
            WorkerTarget(field: "allocations_beyond", bound: .below(0.5), instrument: .allocations),
            WorkerTarget(field: "shards_instructions_ratio", bound: .atMost(1.05), instrument: .instructions),
        ],
        .singleLookup: [
            WorkerTarget(field: "ratio", bound: .atMost(1.5)),
            WorkerTarget(field: "rate_ratio", bound: .atLeast(1)),
        ],
        .fanout: [
            WorkerTarget(field: "ratio", bound: .atMost(0.35)),
            WorkerTarget(field: "rate", bound: .atLeast(2_000_000)),
            WorkerTarget(field: "sandbox_rate", bound: .atLeast(1_000_000)),
            WorkerTarget(field: "allocations_beyond", bound: .below(0.02), instrument: .allocations),
            WorkerTarget(field: "memory_ratio", bound: .atMost(1)),
            WorkerTarget(field: "shards_instructions_ratio", bound: .atMost(1.05), instrument: .instructions),
        ],
        .bundles: [
            WorkerTarget(field: "bundles_ratio", bound: .atMost(1.1)),
            WorkerTarget(field: "resident_mib", bound: .atMost(256)),
        ],
    ]
}
