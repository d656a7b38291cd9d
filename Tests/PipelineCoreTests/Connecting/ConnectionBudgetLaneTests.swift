import RequestLanes
import TestSupport
import Testing

@testable import PipelineCore

/// Grants of connections where several lanes ask for them.
@Suite struct ConnectionBudgetLaneTests {
    private let start = MonotonicTime(nanoseconds: 60_000_000_000)

    // MARK: The lane in turn

    @Test("A free grant goes to the most urgent lane that waits, not to the topic that waits longest or had fewest")
    func mostUrgentFirst() {
        var budget = ConnectionBudget(perMinute: 2)
        func later(_ topic: UInt64, _ lane: RequestLane, at now: MonotonicTime) -> MonotonicTime? {
            budget.takeConnection(topic: topic, lane: lane, purpose: .reconnect, now: now)
        }
        #expect(later(1, .urgent, at: start) == nil)
        var due = start + .seconds(30)
        #expect(later(2, .bulk, at: start) == due)
        #expect(later(3, .normal, at: start + .seconds(1)) == due)
        #expect(later(1, .urgent, at: start + .seconds(2)) == due)
        #expect(later(2, .bulk, at: due) == due + .milliseconds(20))
        #expect(later(3, .normal, at: due) == due + .milliseconds(20))
        #expect(later(1, .urgent, at: due) == nil)
        let asked = due + .milliseconds(20)
        due = due + .seconds(30)
        #expect(later(2, .bulk, at: asked) == due)
        #expect(later(3, .normal, at: asked) == due)
        #expect(later(2, .bulk, at: due) == due + .milliseconds(20))
        #expect(later(3, .normal, at: due) == nil)
    }

    @Test("Of lanes that always wait each gets at least every tenth grant, and the most urgent one all others")
    func turns() {
        var turns = LaneTurns()
        let taken = (0..<28).compactMap { _ -> RequestLane? in
            guard let lane = turns.next(among: RequestLane.allCases) else { return nil }
            turns.granted(lane, among: RequestLane.allCases)
            return lane
        }
        let round = Array(repeating: RequestLane.urgent, count: 7) + [.bulk, .normal]
        #expect(taken == [.urgent] + round + round + round)
        #expect(turns.next(among: [RequestLane]()) == nil)
    }

    @Test(
        "A lane that waits is passed over nine times at most, and the most urgent one only for that",
        arguments: trials(100)
    )
    func shares(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = random.pick(1...40)
        var world = GrantWorld(perMinute: perMinute, seed: seed)
        // Bulk waits all the time, for a budget that the others alone use up.
        world.askers = [.init(lane: .bulk, topic: 0)]
        for lane in RequestLane.allCases {
            let topics = UInt64(random.pick(1...5))
            for topic in 1...topics {
                let mostPause = random.chance(50) ? 1000 : 60_000
                let pause = random.chance(20) ? 0 : random.pick(1...mostPause)
                world.askers.append(.init(lane: lane, topic: topic, longestPause: pause))
            }
        }
        world.run(grants: 300)
        let grants = world.grants
        expectShares(in: grants)
        let rows = (10...grants.count).map { grants[($0 - 10)..<$0] }
        #expect(rows.allSatisfy { row in row.contains { $0.lane == .bulk } }, "bulk has a tenth")
    }

    /// Expects what ``LaneTurns`` promises of every grant.
    private func expectShares(in grants: [GrantWorld.Grant]) {
        var passedOver: [RequestLane: Int] = [:]
        var urgentInRow = 0
        for (index, grant) in grants.enumerated() {
            #expect(grant.waiting.contains(.bulk))
            let isDue = passedOver[grant.lane, default: 0] >= LaneTurns.mostPassedOver
            #expect(grant.lane == grant.waiting.min() || isDue, "grant \(index)")
            for lane in grant.waiting where lane != grant.lane {
                passedOver[lane, default: 0] += 1
                #expect(passedOver[lane, default: 0] <= 9, "\(lane) at grant \(index)")
            }
            passedOver[grant.lane] = 0
            urgentInRow = grant.lane != .urgent && grant.waiting.contains(.urgent) ? urgentInRow + 1 : 0
            #expect(urgentInRow <= 2, "urgent is passed over at grant \(index)")
        }
    }

    @Test("A grant that a lane could not have had does not count as one that passed it over")
    func passesThatDoNotCount() {
        var budget = ConnectionBudget(perMinute: 60)
        var now = start
        func later(_ topic: UInt64, _ lane: RequestLane, _ purpose: ConnectionBudget.Purpose) -> MonotonicTime? {
            budget.takeConnection(topic: topic, lane: lane, purpose: purpose, now: now)
        }
        // The probes' quarter is spent, then the half that comes at once; bulk waits for a probe meanwhile.
        for _ in 0..<15 { #expect(later(1, .normal, .probe) == nil) }
        #expect(later(2, .bulk, .probe) == start + .seconds(60))
        for _ in 0..<15 { #expect(later(3, .urgent, .reconnect) == nil) }
        let due = later(4, .bulk, .reconnect)
        #expect(due == later(3, .urgent, .reconnect))
        now = due ?? now
        #expect(later(4, .bulk, .reconnect) != nil)
        #expect(later(3, .urgent, .reconnect) == nil)
    }

    // MARK: Topics of several lanes

    @Test("A topic waits in each of its lanes by itself, and its grants in one do not count in another")
    func topicInLanes() {
        var budget = ConnectionBudget(perMinute: 4)
        func later(_ topic: UInt64, _ lane: RequestLane, at now: MonotonicTime) -> MonotonicTime? {
            budget.takeConnection(topic: topic, lane: lane, purpose: .reconnect, now: now)
        }
        for _ in 0..<2 { #expect(later(1, .bulk, at: start) == nil) }
        let due = start + .seconds(20)
        #expect(later(1, .bulk, at: start) == due)
        #expect(later(1, .urgent, at: start) == due)
        #expect(later(2, .urgent, at: start + .seconds(1)) == due)
        #expect(budget.state(now: due).waitingTopics[.reconnect] == 2, "in two lanes a topic counts once")
        #expect(later(1, .bulk, at: due) != nil, "its turn is that of its urgent lane")
        #expect(later(2, .urgent, at: due) != nil, "topic 1 has waited longer, and had none in this lane")
        #expect(later(1, .urgent, at: due) == nil)
        #expect(budget.state(now: due).waitingTopics[.reconnect] == 2, "it waits on in the other lane")
    }

    // MARK: First connections

    @Test("First connections of a lane do not wait for those of another: twenty at once, then twenty a second, in each")
    func first() {
        var budget = ConnectionBudget(perMinute: 1)
        func later(_ topic: UInt64, _ lane: RequestLane) -> MonotonicTime? {
            budget.takeConnection(topic: topic, lane: lane, purpose: .first, now: start)
        }
        #expect((0..<3000).count { later($0, .bulk) == nil } == 20)
        for lane in [.normal, .urgent] as [RequestLane] {
            #expect((0..<20).count { later($0, lane) == nil } == 20)
            #expect(later(20, lane) == start + .milliseconds(50))
        }
    }
}

/// Topics that ask in their lanes for connections, always at the time they were told.
private struct GrantWorld {
    struct Asker {
        var lane: RequestLane
        var topic: UInt64
        /// Most milliseconds from a connection until the next is wanted; 0: it always waits.
        var longestPause = 0
        var asksAt = MonotonicTime(nanoseconds: 0)
        var isWaiting = false
    }

    struct Grant {
        var lane: RequestLane
        /// The lanes that waited for it.
        var waiting: Set<RequestLane>
    }

    private var budget: ConnectionBudget
    private var random: SeededGenerator
    private var now = MonotonicTime(nanoseconds: 0)
    /// No two of them are the same topic in the same lane.
    var askers: [Asker] = []
    private(set) var grants: [Grant] = []

    init(perMinute: Int, seed: UInt64) {
        budget = ConnectionBudget(perMinute: perMinute)
        random = SeededGenerator(seed: seed)
    }

    /// Lets time pass until so many connections were granted.
    mutating func run(grants count: Int) {
        while grants.count < count, let next = askers.indices.min(by: { askers[$0].asksAt < askers[$1].asksAt }) {
            let asker = askers[next]
            now = max(now, asker.asksAt)
            askers[next].isWaiting = true
            if let later = budget.takeConnection(topic: asker.topic, lane: asker.lane, purpose: .reconnect, now: now) {
                askers[next].asksAt = later
                continue
            }
            grants.append(Grant(lane: asker.lane, waiting: Set(askers.filter(\.isWaiting).map(\.lane))))
            askers[next].isWaiting = false
            // One that always waits asks before all others.
            let pause = Duration.milliseconds(random.pick(0...asker.longestPause))
            askers[next].asksAt = asker.longestPause == 0 ? MonotonicTime(nanoseconds: 0) : now + pause
        }
    }
}
