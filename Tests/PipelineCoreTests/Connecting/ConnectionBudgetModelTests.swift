import RequestLanes
import TestSupport
import Testing

@testable import PipelineCore

/// The budget against a model that looks at every topic at each ask.
@Suite struct ConnectionBudgetModelTests {
    private static let purposes: [ConnectionBudget.Purpose] = [.reconnect, .successor, .probe]

    @Test(
        "Every question at any time, in one lane or several, gets the answer of a rule that looks at all topics",
        arguments: trials(90)
    )
    func sameAnswers(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = random.pick(1...30)
        var (budget, model) = (ConnectionBudget(perMinute: perMinute), ListedBudget(perMinute: perMinute))
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        let lanes = RequestLane.allCases.shuffled(using: &random).prefix(1 + Int(seed % 3))
        var due: [(time: MonotonicTime, asker: ListedBudget.Asker, purpose: ConnectionBudget.Purpose)] = []
        for _ in 0..<4000 {
            if random.chance(3) {
                now = now + .milliseconds(random.pick(0...90_000))
            } else if random.chance(50) {
                now = now + .milliseconds(random.pick(0...300))
            }
            if random.chance(1) {
                let changed = random.pick(1...30)
                budget.use(perMinute: changed)
                model.use(perMinute: changed)
            }
            let lane = lanes.randomElement(using: &random) ?? .normal
            var asker = ListedBudget.Asker(lane: lane, topic: UInt64(random.pick(0...14)))
            var purpose = Self.purposes[random.pick(0...2)]
            // Mostly those ask again that were told to.
            if random.chance(70), let next = due.indices.min(by: { due[$0].time < due[$1].time }) {
                let told = due.remove(at: next)
                (asker, purpose) = (told.asker, told.purpose)
                now = max(now, told.time)
            }
            let answer = budget.takeConnection(topic: asker.topic, lane: asker.lane, purpose: purpose, now: now)
            let expected = model.takeConnection(asker, purpose: purpose, now: now)
            #expect(answer == expected)
            if let answer, random.chance(90) { due.append((answer, asker, purpose)) }
        }
    }

    @Test(
        "An ask among thousands of waiting topics costs hardly more than one among few, in one lane and in all",
        arguments: [[RequestLane.normal], RequestLane.allCases]
    )
    func steps(lanes: [RequestLane]) {
        let few = stepsOfAnAsk(topics: 30, lanes: lanes)
        let many = stepsOfAnAsk(topics: 3000, lanes: lanes)
        #expect(many <= few + 40, "\(few), \(many)")
    }

    /// Steps an ask, while all topics wait, each in one of the lanes, and ask when they are told to.
    private func stepsOfAnAsk(topics: Int, lanes: [RequestLane]) -> Int {
        var budget = ConnectionBudget(perMinute: 60)
        var now = MonotonicTime(nanoseconds: 0)
        var due: [(time: MonotonicTime, topic: UInt64)] = (0..<UInt64(topics)).map { (now, $0) }
        var asks = 0
        for _ in 0..<200 {
            let asking = due
            due = []
            for (time, topic) in asking {
                guard time <= now else {
                    due.append((time, topic))
                    continue
                }
                asks += 1
                let lane = lanes[Int(topic) % lanes.count]
                let later = budget.takeConnection(topic: topic, lane: lane, purpose: .reconnect, now: now)
                due.append((later ?? now, topic))
            }
            now = now + .seconds(1)
        }
        return budget.steps / asks
    }
}

/// The rules of ``ConnectionBudget`` as a list of topics that is walked at each ask. First connections are left out.
private struct ListedBudget {
    typealias Purpose = ConnectionBudget.Purpose
    typealias Asker = ConnectionBudget.Asker

    struct Topic {
        var charged = 0
        var lastGrant: MonotonicTime?
        var waits: [Purpose: (since: MonotonicTime, until: MonotonicTime)] = [:]
    }

    private static let minute = Duration.seconds(60)
    private var perMinute: Int
    private var grants: [(time: MonotonicTime, asker: Asker)] = []
    private var probes: [MonotonicTime] = []
    private var nextEven = MonotonicTime(nanoseconds: 0)
    private var topics: [Asker: Topic] = [:]
    /// Grants since a lane's last one that it could have had.
    private var passedOver: [RequestLane: Int] = [:]

    init(perMinute: Int) { self.perMinute = perMinute }

    mutating func use(perMinute: Int) {
        self.perMinute = perMinute
        if let last = grants.last, grants.count <= perMinute { nextEven = evenTime(after: last.time) }
    }

    mutating func takeConnection(_ asker: Asker, purpose: Purpose, now: MonotonicTime) -> MonotonicTime? {
        while let spent = grants.first, spent.time + Self.minute <= now {
            grants.removeFirst()
            topics[spent.asker]?.charged -= 1
            if topics[spent.asker]?.charged == 0 { topics[spent.asker]?.lastGrant = nil }
        }
        probes.removeAll { $0 + Self.minute <= now }
        let next = nextGrant(for: purpose, now: now)
        let later = max(next, now + .milliseconds(20))
        var topic = topics[asker] ?? Topic()
        let earlier = topic.waits[purpose].flatMap { now <= $0.until ? $0.since : nil }
        topic.waits[purpose] = (earlier ?? now, later + ConnectionBudget.patience)
        topics[asker] = topic
        guard next <= now else { return later }
        let askers = waitingAskers(now: now)
        let lanes = Set(askers.map(\.lane))
        let dueLane = lanes.filter { passedOver[$0, default: 0] >= 8 }.max()
        guard let lane = dueLane ?? lanes.min(), asker == askers.first(where: { $0.lane == lane }) else { return later }
        for other in lanes { passedOver[other, default: 0] += 1 }
        passedOver[lane] = 0
        grants.append((now, asker))
        if purpose == .probe { probes.append(now) }
        nextEven = evenTime(after: now)
        topics[asker]?.charged += 1
        topics[asker]?.lastGrant = now
        topics[asker]?.waits[purpose] = nil
        return nil
    }

    /// The askers of a free purpose, in the order within their lanes.
    private func waitingAskers(now: MonotonicTime) -> [Asker] {
        let free = [Purpose.reconnect, .successor, .probe].filter { nextGrant(for: $0, now: now) <= now }
        let waiting = topics.compactMap { asker, topic in
            free.compactMap { topic.waits[$0] }.filter { now <= $0.until }.map(\.since).min().map { since in
                (place: (topic.charged, topic.lastGrant ?? since, asker.topic), asker: asker)
            }
        }
        return waiting.sorted { $0.place < $1.place }.map(\.asker)
    }

    private func nextGrant(for purpose: Purpose, now: MonotonicTime) -> MonotonicTime {
        var next = now
        if let full = grant(ago: perMinute) { next = max(next, full + Self.minute) }
        if let half = grant(ago: max(1, perMinute / 2)) {
            if nextEven < half + Self.minute { next = max(next, nextEven) }
            if purpose == .successor { next = max(next, half + Self.minute) }
        }
        let mostProbes = max(1, perMinute / 4)
        if purpose == .probe, probes.count >= mostProbes {
            next = max(next, probes[probes.count - mostProbes] + Self.minute)
        }
        return next
    }

    private func grant(ago count: Int) -> MonotonicTime? {
        count <= grants.count ? grants[grants.count - count].time : nil
    }

    private func evenTime(after time: MonotonicTime) -> MonotonicTime {
        let rest = time.elapsed(until: grants[0].time + Self.minute)
        return time + max(Self.minute / perMinute, rest / (perMinute - grants.count + 1))
    }
}
