import Foundation
import Workbench

/// Measurements of one contender.
struct ContenderResult {
    var samples = ContenderSamples()
    /// CPU milliseconds per second with nothing to take.
    var restMilliseconds: Double?
    /// The largest resident set of the timed rounds, in MiB.
    var residentMiB: Double?
    /// Per notification.
    var allocations: Double?
    /// Per notification.
    var instructions: Double?
}

/// The result of a scenario of `belfry-bench run worker`.
struct WorkerReport {
    /// Bounds of a worker's memory: so much, and so many bytes for a notification in flight.
    private enum Memory {
        static let baseMiB = 128.0
        static let bytesInFlight = 128.0
    }

    /// A measure with its name in the result.
    struct Measure: Equatable {
        let field: String
        let value: Double
        /// Smallest and largest value of the rounds; nil: it has no rounds.
        var spread: [Double]?
        /// Digits behind the point.
        var digits: Int
    }

    /// The fields for the help. One is there if it was measured.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        prefixes: ["floor_", "bare_", "beside_", "sandbox_", "one_bundle_", "one_shard_"],
        """
        scenario, notifications, rounds: What was measured; notifications of a round.
        rate: Notifications a second, to the gateway's last byte. fanout: 2,000,000, and sandbox_rate 1,000,000.
        worker_cpu_us, cpu_us: CPU microseconds per notification, of all threads, without what goes on without \
        notifications.
        rest_ms: CPU milliseconds per second with nothing to take, measured for 3 s before the first round. They are \
        taken off the rounds, each of which goes on for 3 s behind its last byte.
        ratio, rate_ratio: CPU time and rate as multiples of the floor's. single: 1.3 and 2.5; single-lookup: 1.5 and \
        1; fanout: 0.35.
        bare_ratio, beside_ratio: CPU time as a multiple of that of bare, of another version's worker.
        bundles_ratio: CPU time with all bundles as a multiple of that with one: 1.1.
        resident_mib: The largest resident set of the timed rounds. bundles: 256.
        allocations, allocations_beyond: Calls of the allocator per notification; what the worker has more of than \
        bare, or the floor. single: below 0.5; fanout: below 0.02.
        instructions: Per notification.
        shards_instructions_ratio: Instructions as a multiple of those of a worker with one shard: 1.05.
        in_flight, memory_ratio: Notifications in flight when a round's last byte has arrived, by the worker's own \
        metrics; resident_mib as a share of 128 MiB and 128 bytes for each of these. fanout: 1.
        in_flight_bytes, frame_bytes: Bytes on the heap per notification in flight, beyond those at rest; of these its \
        frame.
        passed, missed: The judgement, and the targets that were missed or not measured.
        """
    )

    let scenario: String
    /// In a timed round.
    let notifications: Int
    let targets: [WorkerTarget]
    /// The instruments with which the run was to count.
    let instruments: Set<Instrument>
    /// Of those that took part, or were counted.
    private var results: [ContenderPlan.Role: ContenderResult] = [:]
    /// Notifications that the worker had in flight at the end of a round.
    var inFlight: Double?
    /// Bytes on the worker's heap per notification in flight, its frame included, beyond what it holds at rest.
    var heapBytesInFlight: Double?
    /// Bytes of a notification's frame.
    var frameBytes: Double?

    /// - Parameter instruments: with which the run is to count.
    init(plan: ScenarioPlan, notifications: Int, instruments: Set<Instrument>) {
        scenario = plan.name
        targets = plan.targets
        self.notifications = notifications
        self.instruments = instruments
    }

    subscript(role: ContenderPlan.Role) -> ContenderResult {
        get { results[role] ?? ContenderResult() }
        set { results[role] = newValue }
    }

    var rounds: Int { self[.worker].samples.rate.values.count }

    /// Everything that was measured, in the order of the table.
    var measures: [Measure] {
        var measures: [Measure] = []
        for role in ContenderPlan.Role.allCases { measures += self.measures(of: role) }
        func add(_ field: String, _ value: Double?, digits: Int) {
            guard let value else { return }
            measures.append(Measure(field: field, value: value, digits: digits))
        }
        add("ratio", cpuRatio(to: .floor), digits: 2)
        add("rate_ratio", rateRatio(to: .floor), digits: 2)
        add("bare_ratio", cpuRatio(to: .bare), digits: 2)
        add("beside_ratio", cpuRatio(to: .beside), digits: 3)
        add("bundles_ratio", cpuRatio(to: .oneBundle), digits: 3)
        add("allocations_beyond", allocationsBeyond, digits: 4)
        add("shards_instructions_ratio", shardsInstructionsRatio, digits: 3)
        add("in_flight", inFlight, digits: 0)
        add("memory_ratio", memoryRatio, digits: 3)
        add("in_flight_bytes", heapBytesInFlight, digits: 1)
        add("frame_bytes", frameBytes, digits: 1)
        return measures
    }

    private func measures(of role: ContenderPlan.Role) -> [Measure] {
        let result = self[role]
        let prefix = role == .worker ? "" : "\(role.rawValue)_"
        // As they were called before there were others.
        let cpu = role == .worker ? "worker_cpu_us" : "\(prefix)cpu_us"
        var measures: [Measure] = []
        func add(_ field: String, _ samples: Samples, digits: Int) {
            guard !samples.values.isEmpty else { return }
            measures.append(Measure(field: field, value: samples.median, spread: samples.spread, digits: digits))
        }
        func add(_ field: String, _ value: Double?, digits: Int) {
            guard let value else { return }
            measures.append(Measure(field: field, value: value, digits: digits))
        }
        add("\(prefix)rate", result.samples.rate, digits: 0)
        add(cpu, result.samples.cpuMicroseconds, digits: 3)
        add("\(prefix)rest_ms", result.restMilliseconds, digits: 1)
        add("\(prefix)resident_mib", result.residentMiB, digits: 1)
        add("\(prefix)allocations", result.allocations, digits: 4)
        add("\(prefix)instructions", result.instructions, digits: 0)
        return measures
    }

    /// The worker's CPU time as a multiple of another's; nil if one of them took no part.
    private func cpuRatio(to role: ContenderPlan.Role) -> Double? { ratio(to: role, of: \.cpuMicroseconds) }

    private func rateRatio(to role: ContenderPlan.Role) -> Double? { ratio(to: role, of: \.rate) }

    private func ratio(to role: ContenderPlan.Role, of measure: KeyPath<ContenderSamples, Samples>) -> Double? {
        let (own, other) = (self[.worker].samples[keyPath: measure], self[role].samples[keyPath: measure])
        return own.values.isEmpty || other.values.isEmpty ? nil : own.medianRatio(to: other)
    }

    /// The worker's allocations beyond those of the program in C that takes the same records.
    private var allocationsBeyond: Double? {
        guard let own = self[.worker].allocations else { return nil }
        return (self[.bare].allocations ?? self[.floor].allocations).map { own - $0 }
    }

    /// The worker's instructions as a multiple of those with one shard.
    private var shardsInstructionsRatio: Double? {
        guard let own = self[.worker].instructions, let one = self[.oneShard].instructions, one > 0 else { return nil }
        return own / one
    }

    /// The worker's memory as a share of what it may be, where that is a target.
    private var memoryRatio: Double? {
        guard targets.contains(where: { $0.field == "memory_ratio" }) else { return nil }
        guard let inFlight, let residentMiB = self[.worker].residentMiB else { return nil }
        return residentMiB / (Memory.baseMiB + Memory.bytesInFlight * inFlight / 1_048_576)
    }

    /// The targets in their order, each with its verdict.
    private var verdicts: [(target: WorkerTarget, verdict: WorkerTarget.Verdict)] {
        let measures = measures
        return targets.map { target in
            if let instrument = target.instrument, !instruments.contains(instrument) { return (target, .notAsked) }
            guard let measure = measures.first(where: { $0.field == target.field }) else {
                return (target, .notMeasured)
            }
            return (target, target.isMet(by: measure.value) ? .met : .missed)
        }
    }

    /// The targets that the run was to measure and that are not met, in words.
    var missedTargets: [String] {
        verdicts.compactMap { target, verdict in
            switch verdict {
            case .met, .notAsked: nil
            case .missed: target.text
            case .notMeasured: "\(target.text): not measured"
            }
        }
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: scenario)
        line.judge(missed: missedTargets)
        line.add("notifications", notifications)
        line.add("rounds", rounds)
        for measure in measures {
            line.add(measure.field, measure.value, digits: measure.digits)
            guard let spread = measure.spread else { continue }
            line.add("\(measure.field)_spread", spread, digits: measure.digits)
        }
        return try line.text()
    }

    /// The report as a table for people: a row for each measure, then the targets.
    var table: String {
        func cell(_ text: String) -> String { String(repeating: " ", count: max(1, 14 - text.utf8.count)) + text }
        func cell(_ value: Double, _ digits: Int) -> String { cell(String(format: "%.\(digits)f", value)) }
        func name(_ text: String) -> String { text.padding(toLength: 30, withPad: " ", startingAt: 0) }
        var lines = ["\(scenario): \(rounds) rounds of \(notifications) notifications"]
        lines.append(name("  measure") + ["median", "smallest", "largest"].map { cell($0) }.joined())
        let measures = measures
        for measure in measures {
            lines.append(
                name("  \(measure.field)") + cell(measure.value, measure.digits)
                    + (measure.spread.map { $0.map { cell($0, measure.digits) }.joined() } ?? "")
            )
        }
        for (target, verdict) in verdicts { lines.append("  target \(target.text): \(verdict.rawValue)") }
        return lines.joined(separator: "\n")
    }
}
