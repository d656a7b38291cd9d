/// A plan of a world that can be cut down.
protocol ShrinkablePlan {
    associatedtype Record
    associatedtype Fault

    var records: [Record] { get set }
    var faults: [Fault] { get set }
}

extension WorldPlan: ShrinkablePlan {}
extension ApplyingPlan: ShrinkablePlan {}

/// Cuts a failing plan down to what the failure needs: fewer faults, fewer records, as long as it goes on failing.
struct Shrinker<Plan: ShrinkablePlan> {
    /// Most worlds that are tried.
    private static var most: Int { 400 }

    private let breaks: (Plan) -> Bool
    private(set) var plan: Plan
    private(set) var tried = 0

    /// - Parameters:
    ///   - plan: one that breaks.
    ///   - breaks: whether a smaller one still does.
    init(_ plan: Plan, breaks: @escaping (Plan) -> Bool) {
        self.plan = plan
        self.breaks = breaks
    }

    /// The smallest plan found.
    mutating func shrink() -> Plan {
        var before = -1
        while before != plan.records.count + plan.faults.count {
            before = plan.records.count + plan.faults.count
            dropFaults()
            dropRecords()
        }
        return plan
    }

    private mutating func dropFaults() {
        var index = 0
        while index < plan.faults.count {
            var smaller = plan
            smaller.faults.remove(at: index)
            if !keeps(smaller) { index += 1 }
        }
    }

    /// Stretches first, single records last.
    private mutating func dropRecords() {
        var size = max(1, plan.records.count / 2)
        while true {
            var start = max(0, plan.records.count - size)
            while true {
                var smaller = plan
                smaller.records.removeSubrange(start..<min(smaller.records.count, start + size))
                _ = keeps(smaller)
                guard start > 0 else { break }
                start = max(0, start - size)
            }
            guard size > 1, tried < Self.most else { return }
            size /= 2
        }
    }

    private mutating func keeps(_ smaller: Plan) -> Bool {
        guard tried < Self.most, !smaller.records.isEmpty else { return false }
        tried += 1
        guard breaks(smaller) else { return false }
        plan = smaller
        return true
    }
}
