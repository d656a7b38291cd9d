/// A failing seed as text: what its world was, which faults it needs, and what happened.
struct Story {
    let text: [String]

    /// - Parameters:
    ///   - whole: the seed's plan.
    ///   - violation: what broke in the seed's whole world.
    ///   - lines: most lines of what happened; the last ones count.
    init(_ whole: WorldPlan, violation: Auditor.Violation, lines: Int) {
        let seed = whole.seed
        var shrinker = Shrinker(whole) { World($0).run().violation?.invariant == violation.invariant }
        let plan = shrinker.shrink()
        let report = World(plan, tells: true).run()
        var text = ["seed \(seed) breaks \(violation)"]
        text.append("shrunk in \(shrinker.tried) worlds: \(report.violation.map { "\($0)" } ?? "nothing breaks")")
        text.append("\(plan.options)")
        text.append(
            "\(plan.records.count) of \(whole.records.count) records, \(plan.faults.count) of \(whole.faults.count) faults"
        )
        for record in plan.records.prefix(20) { text.append("\(record)") }
        for fault in plan.faults {
            text.append(
                "at \(fault.time / .milliseconds(1)) ms for \(fault.lasting / .milliseconds(1)) ms: \(fault.kind), "
                    + "worker \(fault.worker), topic \(fault.topic)"
            )
        }
        let omitted = max(0, report.story.count - lines)
        if omitted > 0 { text.append("… \(omitted) lines") }
        self.text = text + report.story.suffix(lines)
    }
}
