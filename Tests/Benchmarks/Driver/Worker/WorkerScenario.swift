import Foundation

/// Runs a scenario: timed rounds of all its contenders side by side, then the counts of each alone.
///
/// Payloads have 110 bytes. The sink never answers, so that every notification is presumed accepted in the end.
struct WorkerScenario {
    /// Numbers that somebody asked for.
    struct Request {
        var rounds: Int
        /// In a timed round; nil: the plan's number.
        var notifications: Int?
        /// Notifications in the smaller one of two rounds whose allocations are counted; 0: they are not.
        var allocations = 0
        /// The same of instructions.
        var instructions = 0
        /// A broker to use instead of the embedded ones.
        var brokers: String?

        /// The instruments with which something is counted.
        var instruments: Set<Instrument> {
            var instruments: Set<Instrument> = []
            if allocations > 0 { instruments.insert(.allocations) }
            if instructions > 0 { instruments.insert(.instructions) }
            return instruments
        }
    }

    let plan: ScenarioPlan
    private let servers: Servers
    private let request: Request
    private let surroundings: Contender.Surroundings

    /// Makes what all contenders share.
    init(_ plan: ScenarioPlan, servers: Servers, _ request: Request) throws {
        self.plan = plan
        self.servers = try servers.within(plan.name)
        self.request = request
        let all = plan.contenders + plan.allocating + plan.executing
        let bundles = Set(all.flatMap(\.records.bundles)).sorted()
        let pki = try self.servers.makePKI(topics: bundles)
        let tokens = all.contains { $0.records == .fanOut } ? try BenchmarkApp.tokens(FanOut.tokens, pki: pki) : []
        surroundings = Contender.Surroundings(
            pki: pki,
            tokens: tokens,
            brokers: request.brokers
        )
    }

    /// Measures, counts, and reports.
    func run() throws -> WorkerReport {
        let notifications = plan.whole(request.notifications ?? plan.notifications)
        var report = WorkerReport(plan: plan, notifications: notifications, instruments: request.instruments)
        try measure(notifications, into: &report)
        ChildRegistry.endAll()
        try countAll(plan.allocating, .allocations, request.allocations) { contender, count in
            report[contender.plan.role].allocations = try contender.count(count)
            guard contender.plan.role == .worker, let frame = try contender.frameBytes() else { return }
            let inFlight = try contender.inFlight(2 * count)
            guard inFlight.notifications > 0, let heapBytes = inFlight.heapBytes else { return }
            report.heapBytesInFlight = heapBytes / inFlight.notifications
            report.frameBytes = frame
        }
        try countAll(plan.executing, .instructions, request.instructions) { contender, count in
            report[contender.plan.role].instructions = try contender.count(count)
        }
        return report
    }

    // MARK: Timed rounds

    private func measure(_ notifications: Int, into report: inout WorkerReport) throws {
        say("\(plan.name): starting")
        var contenders: [Contender] = []
        for contender in plan.contenders {
            contenders.append(
                try Contender(contender, servers: servers.within("timed-\(contender.role)"), surroundings)
            )
        }
        for index in contenders.indices { try contenders[index].settle() }
        for contender in contenders { try contender.pause() }
        for index in contenders.indices {
            try contenders[index].rest()
            report[contenders[index].plan.role].restMilliseconds = contenders[index].restingMicroseconds / 1000
        }
        for round in 0..<request.rounds {
            let order = round.isMultiple(of: 2) ? Array(contenders.indices) : contenders.indices.reversed()
            if surroundings.brokers != nil {
                for contender in contenders { try contender.air() }
                try contenders[0].publish(notifications)
            }
            for index in order {
                if surroundings.brokers == nil {
                    try contenders[index].air()
                    try contenders[index].publish(notifications)
                }
                let result = try contenders[index].take(notifications)
                let role = contenders[index].plan.role
                say(
                    "\(plan.name), round \(round + 1): \(role.rawValue) \(Int(result.rate))/s, "
                        + "\(rounded(result.cpuMicroseconds, digits: 3)) us of CPU each"
                )
                report[role].samples.rate.add(result.rate)
                report[role].samples.cpuMicroseconds.add(result.cpuMicroseconds)
            }
        }
        if let index = contenders.firstIndex(where: { $0.plan.role == .worker }), surroundings.brokers == nil {
            try contenders[index].air()
            report.inFlight = try contenders[index].inFlight(notifications).notifications
        }
        for contender in contenders { report[contender.plan.role].residentMiB = try contender.residentPeakMiB() }
    }

    // MARK: Counts

    /// Starts one after the other under an instrument, warms it up, and counts.
    ///
    /// - Parameter notifications: asked for; 0: nothing is done.
    private func countAll(
        _ contenders: [ContenderPlan],
        _ instrument: Instrument,
        _ notifications: Int,
        _ count: (_ contender: inout Contender, _ notifications: Int) throws -> Void
    ) throws {
        guard notifications > 0 else { return }
        let largest = plan.notificationLimit / 2
        let notifications = plan.whole(min(notifications * plan.countedMultiple, largest))
        var surroundings = surroundings
        surroundings.instrument = instrument
        for plan in contenders {
            say("\(self.plan.name): counting \(instrument.rawValue) of \(plan.role.rawValue)")
            var contender = try Contender(
                plan,
                servers: servers.within("\(instrument)-\(plan.role)"),
                surroundings
            )
            try contender.settle()
            try contender.pause()
            try count(&contender, notifications)
            ChildRegistry.endAll()
        }
    }
}
