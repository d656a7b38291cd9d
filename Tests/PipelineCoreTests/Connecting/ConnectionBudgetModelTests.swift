import TestSupport
import Testing

@testable import PipelineCore

/// The budget against a model that looks at every topic at each ask.
@Suite struct ConnectionBudgetModelTests {
    private static let purposes: [ConnectionBudget.Purpose] = [.reconnect, .successor, .probe]

    @Test("Every question at any time gets the answer of a rule that looks at all topics", arguments: 0..<60)
    func sameAnswers(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = random.pick(1...30)
        var (budget, model) = (ConnectionBudget(perMinute: perMinute), ListedBudget(perMinute: perMinute))
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        var due: [(time: MonotonicTime, topic: UInt64, purpose: ConnectionBudget.Purpose)] = []
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
            var (topic, purpose) = (UInt64(random.pick(0...14)), Self.purposes[random.pick(0...2)])
            // Mostly those ask again that were told to.
            if random.chance(70), let next = due.indices.min(by: { due[$0].time < due[$1].time }) {
                let asker = due.remove(at: next)
                (topic, purpose) = (asker.topic, asker.purpose)
                now = max(now, asker.time)
            }
            let answer = budget.takeConnection(topic: topic, purpose: purpose, now: now)
            let expected = model.takeConnection(topic: topic, purpose: purpose, now: now)
            #expect(answer == expected)
            if let answer, random.chance(90) { due.append((answer, topic, purpose)) }
        }
    }

    @Test("An ask among thousands of waiting topics costs hardly more than one among few")
    func steps() {
        let few = stepsOfAnAsk(topics: 30)
        let many = stepsOfAnAsk(topics: 3000)
        #expect(many <= few + 40, "\(few), \(many)")
    }

    /// Steps an ask, while all topics wait and each asks when it is told to.
    private func stepsOfAnAsk(topics: Int) -> Int {
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
                due.append((budget.takeConnection(topic: topic, purpose: .reconnect, now: now) ?? now, topic))
            }
            now = now + .seconds(1)
        }
        return budget.steps / asks
    }
}

/// The rules of ``ConnectionBudget`` as a list of topics that is walked at each ask. First connections are left out.
private struct ListedBudget {
    typealias Purpose = ConnectionBudget.Purpose

    struct Topic {
        var charged = 0
        var lastGrant: MonotonicTime?
        var waits: [Purpose: (since: MonotonicTime, until: MonotonicTime)] = [:]
    }

    private static let minute = Duration.seconds(60)
    private var perMinute: Int
    private var grants: [(time: MonotonicTime, topic: UInt64)] = []
    private var probes: [MonotonicTime] = []
    private var nextEven = MonotonicTime(nanoseconds: 0)
    private var topics: [UInt64: Topic] = [:]

    init(perMinute: Int) { self.perMinute = perMinute }

    mutating func use(perMinute: Int) {
        self.perMinute = perMinute
        if let last = grants.last, grants.count <= perMinute { nextEven = evenTime(after: last.time) }
    }

    mutating func takeConnection(topic: UInt64, purpose: Purpose, now: MonotonicTime) -> MonotonicTime? {
        while let spent = grants.first, spent.time + Self.minute <= now {
            grants.removeFirst()
            topics[spent.topic]?.charged -= 1
            if topics[spent.topic]?.charged == 0 { topics[spent.topic]?.lastGrant = nil }
        }
        probes.removeAll { $0 + Self.minute <= now }
        let next = nextGrant(for: purpose, now: now)
        let later = max(next, now + .milliseconds(20))
        var asker = topics[topic] ?? Topic()
        let earlier = asker.waits[purpose].flatMap { now <= $0.until ? $0.since : nil }
        asker.waits[purpose] = (earlier ?? now, later + ConnectionBudget.patience)
        topics[topic] = asker
        guard next <= now, topic == favourite(now: now) else { return later }
        grants.append((now, topic))
        if purpose == .probe { probes.append(now) }
        nextEven = evenTime(after: now)
        topics[topic]?.charged += 1
        topics[topic]?.lastGrant = now
        topics[topic]?.waits[purpose] = nil
        return nil
    }

    private func favourite(now: MonotonicTime) -> UInt64? {
        let free = [Purpose.reconnect, .successor, .probe].filter { nextGrant(for: $0, now: now) <= now }
        let waiting = topics.compactMap { number, topic in
            free.compactMap { topic.waits[$0] }.filter { now <= $0.until }.map(\.since).min().map { since in
                (topic.charged, topic.lastGrant ?? since, number)
            }
        }
        return waiting.min { $0 < $1 }?.2
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
