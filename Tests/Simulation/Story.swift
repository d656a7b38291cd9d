/// A failing seed as text: what its world was, which faults it needs, and what happened.
struct Story {
    let text: [String]

    /// - Parameters:
    ///   - whole: the seed's plan.
    ///   - violation: what broke in the seed's whole world.
    ///   - lines: most lines of what happened; the last ones count.
    init(_ whole: WorldPlan, violation: Auditor.Violation, lines: Int) {
        var shrinker = Shrinker(whole) { World($0).run().violation?.invariant == violation.invariant }
        let plan = shrinker.shrink()
        let report = World(plan, tells: true).run()
        self.init(
            title: "seed \(whole.seed) breaks \(violation)",
            shrinker,
            from: whole,
            left: report.violation.map { "\($0)" },
            options: "\(plan.options)",
            faults: plan.faults.map { Self.text(of: $0) },
            events: report.story,
            lines: lines
        )
    }

    /// - Parameters:
    ///   - whole: the seed's plan.
    ///   - violation: what broke in the seed's whole world.
    ///   - lines: most lines of what happened; the last ones count.
    init(_ whole: ApplyingPlan, violation: ApplyingAuditor.Violation, lines: Int) {
        var shrinker = Shrinker(whole) { ApplyingWorld($0).run().violation?.rule == violation.rule }
        let plan = shrinker.shrink()
        let report = ApplyingWorld(plan, tells: true).run()
        self.init(
            title: "seed \(whole.seed) of the appliers breaks \(violation)",
            shrinker,
            from: whole,
            left: report.violation.map { "\($0)" },
            options: "\(plan.options)",
            faults: plan.faults.map { fault in
                "at \(Self.milliseconds(fault.time)) for \(Self.milliseconds(fault.lasting)): \(fault.kind)"
            },
            events: report.story,
            lines: lines
        )
    }

    private init<Plan: ShrinkablePlan>(
        title: String,
        _ shrinker: Shrinker<Plan>,
        from whole: Plan,
        left: String?,
        options: String,
        faults: [String],
        events: [String],
        lines: Int
    ) {
        let plan = shrinker.plan
        var text = [title, "shrunk in \(shrinker.tried) worlds: \(left ?? "nothing breaks")", options]
        text.append(
            "\(plan.records.count) of \(whole.records.count) records, \(plan.faults.count) of \(whole.faults.count) faults"
        )
        for record in plan.records.prefix(20) { text.append("\(record)") }
        text += faults
        let omitted = max(0, events.count - lines)
        if omitted > 0 { text.append("… \(omitted) lines") }
        self.text = text + events.suffix(lines)
    }

    private static func text(of fault: Fault) -> String {
        let times = "at \(milliseconds(fault.time)) for \(milliseconds(fault.lasting))"
        let lane = fault.lane.map { ", lane \($0)" } ?? ""
        return "\(times): \(fault.kind), worker \(fault.worker), topic \(fault.topic)\(lane)"
    }

    private static func milliseconds(_ time: VirtualTime) -> String { "\(time / .milliseconds(1)) ms" }
}
