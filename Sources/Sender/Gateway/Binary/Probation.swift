import PipelineCore

/// A lane and the second one beside it, which newcomers use while many tokens are called invalid.
///
/// Each lane has a second lane of its own, so that newcomers are tried over as many connections as others use. The
/// second lane connects when it is first needed.
final class Probation {
    let lane: GatewayLane
    private let ownLane: GatewayLane
    /// Nil while nothing is sorted.
    private var sorter: ProbationSorter?

    init(of ownLane: GatewayLane, lane: GatewayLane) {
        self.ownLane = ownLane
        self.lane = lane
    }

    /// Both lanes, the one of probation first.
    var lanes: [GatewayLane] { [lane, ownLane] }

    /// Nothing is sorted.
    var isOver: Bool { sorter == nil }

    func begin() {
        guard sorter == nil else { return }
        sorter = ProbationSorter(&ownLane.machine)
    }

    /// Sorts the next notifications of its lane; returns the number that went on probation.
    func sort(isOn: Bool, accepted: borrowing AcceptedTokens, now: MonotonicTime) -> Int {
        let count = sorter?.sort(&ownLane.machine, probation: &lane.machine, isOn: isOn, accepted: accepted) ?? 0
        if count > 0 { lane.pump(now: now) }
        return count
    }

    /// Ends the sorting after probation, as soon as no late answer can concern the second lane.
    func end(now: MonotonicTime) {
        if sorter?.end(&ownLane.machine, probation: &lane.machine, now: now) == true { sorter = nil }
    }
}
