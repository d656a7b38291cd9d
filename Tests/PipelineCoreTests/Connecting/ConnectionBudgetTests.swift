import TestSupport
import Testing

@testable import PipelineCore

/// Grants of connections: their number, their times and their takers.
@Suite struct ConnectionBudgetTests {
    private static let minute: UInt64 = 60_000_000_000
    private static let second: UInt64 = 1_000_000_000

    @Test("In no minute, wherever it begins, are more connections granted than the budget", arguments: 1...50)
    func limit(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = Int.random(in: 1...100, using: &random)
        var now = UInt64.random(in: 0...1_000_000_000_000, using: &random)
        var budget = ConnectionBudget(perMinute: perMinute)
        var grants: [UInt64] = []
        for _ in 0..<2000 {
            now += .random(in: 0...(random.chance(2) ? 2 * Self.minute : Self.second), using: &random)
            guard let later = budget.takeConnection(topic: 1, purpose: .reconnect, now: .init(nanoseconds: now)) else {
                grants.append(now)
                continue
            }
            #expect(later.nanoseconds > now && later.nanoseconds <= now + Self.minute)
            if random.chance(50) {
                now = later.nanoseconds
                let granted = budget.takeConnection(topic: 1, purpose: .reconnect, now: later) == nil
                #expect(granted, "asking again at the time named is granted")
                grants.append(now)
            }
        }
        for (first, last) in zip(grants, grants.dropFirst(perMinute)) { #expect(last - first >= Self.minute) }
    }

    @Test("With questions of any topics, all limits hold at once", arguments: 1...50)
    func limitOfAll(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = Int.random(in: 1...40, using: &random)
        var world = BudgetWorld(perMinute: perMinute)
        let purposes: [ConnectionBudget.Purpose] = [.reconnect, .successor, .probe]
        for topic in 0..<UInt64.random(in: 1...12, using: &random) {
            world.askers.append(
                .init(
                    topic: topic,
                    purpose: purposes.randomElement(using: &random) ?? .probe,
                    pause: .milliseconds(.random(in: 0...20_000, using: &random))
                )
            )
        }
        world.run(seconds: 300)
        let grants = world.grants.map(\.at.nanoseconds)
        for (first, last) in zip(grants, grants.dropFirst(perMinute)) { #expect(last - first >= Self.minute) }
        let probes = world.grants.filter { $0.purpose == .probe }.map(\.at.nanoseconds)
        for (first, last) in zip(probes, probes.dropFirst(max(1, perMinute / 4))) {
            #expect(last - first >= Self.minute)
        }
        #expect(!grants.isEmpty)
    }

    @Test("The state tells the grants that are left in the minute, and the topics that wait by purpose")
    func state() {
        var budget = ConnectionBudget(perMinute: 4)
        let start = MonotonicTime(nanoseconds: Self.minute)
        #expect(budget.state(now: start).left == 4)
        for topic in 0..<2 as Range<UInt64> {
            let granted = budget.takeConnection(topic: topic, purpose: .reconnect, now: start) == nil
            #expect(granted)
        }
        // First connections are not charged.
        _ = budget.takeConnection(topic: 9, purpose: .first, now: start)
        _ = budget.takeConnection(topic: 2, purpose: .reconnect, now: start)
        _ = budget.takeConnection(topic: 3, purpose: .reconnect, now: start)
        _ = budget.takeConnection(topic: 3, purpose: .probe, now: start)
        let waiting = ConnectionBudget.State(left: 2, waitingTopics: [.reconnect: 2, .successor: 0, .probe: 1])
        #expect(budget.state(now: start) == waiting)
        let calm = ConnectionBudget.State(left: 4, waitingTopics: [.reconnect: 0, .successor: 0, .probe: 0])
        #expect(budget.state(now: start + .seconds(120)) == calm)
    }

    @Test("In the state a grant counts for less than a minute, and a topic waits to the end of its patience")
    func stateInTime() throws {
        var budget = ConnectionBudget(perMinute: 2)
        let start = MonotonicTime(nanoseconds: Self.minute)
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: start) == nil)
        let told = budget.takeConnection(topic: 2, purpose: .reconnect, now: start)
        let patience = try #require(told) + ConnectionBudget.patience
        #expect(budget.state(now: patience).waitingTopics[.reconnect] == 1)
        #expect(budget.state(now: patience + .nanoseconds(1)).waitingTopics[.reconnect] == 0)
        #expect(budget.state(now: MonotonicTime(nanoseconds: 2 * Self.minute - 1)).left == 1)
        #expect(budget.state(now: MonotonicTime(nanoseconds: 2 * Self.minute)).left == 2)
    }

    @Test("Half of the budget may come at once, the others come evenly, and all of it is to be had")
    func pace() {
        var budget = ConnectionBudget(perMinute: 60)
        var grants: [UInt64] = []
        for second in 0..<180 as Range<UInt64> {
            let now = MonotonicTime(nanoseconds: second * Self.second)
            while budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil { grants.append(second) }
        }
        #expect(grants.count { $0 == 0 } == 30)
        #expect((1..<29).allSatisfy { pair in grants.count { $0 / 2 == pair } == 1 }, "evenly after that")
        #expect((60..<180).allSatisfy { second in grants.count { $0 == second } == 1 }, "and faster without a burst")
        #expect(grants.count { $0 < 60 } == 60)
        #expect(grants.count >= 175)
    }

    @Test("Successors take half of the budget at most, however often they ask")
    func successors() {
        var budget = ConnectionBudget(perMinute: 60)
        var sparing: [Int] = []
        var needed: [Int] = []
        for second in 0..<180 {
            let now = MonotonicTime(nanoseconds: UInt64(second) * Self.second)
            while budget.takeConnection(topic: 1, purpose: .successor, now: now) == nil { sparing.append(second) }
            if budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil { needed.append(second) }
        }
        for minute in 0..<120 {
            #expect(sparing.count { (minute..<minute + 60).contains($0) } <= 31)
            #expect(needed.count { (minute..<minute + 60).contains($0) } >= 25)
        }
    }

    @Test("Probes take a quarter of the budget at most, and one a minute of the smallest", arguments: [1, 3, 8, 60])
    func probes(perMinute: Int) {
        var world = BudgetWorld(perMinute: perMinute)
        world.askers = (0..<100).map { .init(topic: $0, purpose: .probe) }
        world.run(seconds: 130)
        #expect(world.grants.count { $0.at < .init(nanoseconds: Self.minute) } == max(1, perMinute / 4))
        #expect(world.grants.count >= 2 * max(1, perMinute / 4))
        #expect(Set(world.grants.prefix(100).map(\.topic)).count == min(100, world.grants.count), "each in turn")
    }

    @Test("While probes wait for their quarter, a reconnect does not wait for them")
    func probesWait() {
        var budget = ConnectionBudget(perMinute: 4)
        let now = MonotonicTime(nanoseconds: 0)
        #expect(budget.takeConnection(topic: 1, purpose: .probe, now: now) == nil)
        #expect(budget.takeConnection(topic: 2, purpose: .probe, now: now) == .init(nanoseconds: Self.minute))
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil)
    }

    @Test("A clock that stands still or goes back earns nothing")
    func clock() {
        var budget = ConnectionBudget(perMinute: 4)
        let grants = [60, 60, 60, 59, 0].map {
            budget.takeConnection(topic: 1, purpose: .reconnect, now: .init(nanoseconds: $0 * Self.second)) == nil
        }
        #expect(grants == [true, true, false, false, false])
    }

    // MARK: First connections

    @Test("First connections come twenty at once, then twenty a second, and cost reconnects nothing")
    func first() {
        var budget = ConnectionBudget(perMinute: 2)
        var now = MonotonicTime(nanoseconds: 7)
        for topic in 0..<20 as Range<UInt64> {
            #expect(budget.takeConnection(topic: topic, purpose: .first, now: now) == nil)
        }
        for topic in 20..<60 as Range<UInt64> {
            let later = budget.takeConnection(topic: topic, purpose: .first, now: now)
            #expect(later == now + .milliseconds(50))
            now = later ?? now
            #expect(budget.takeConnection(topic: topic, purpose: .first, now: now) == nil)
        }
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil)
        now = now + .milliseconds(500)
        #expect((0..<20).count { _ in budget.takeConnection(topic: 1, purpose: .first, now: now) == nil } == 10)
    }

    @Test("A spent budget of reconnects keeps no first connection waiting")
    func firstPasses() {
        var budget = ConnectionBudget(perMinute: 1)
        let now = MonotonicTime(nanoseconds: 1)
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil)
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) != nil)
        #expect(budget.takeConnection(topic: 2, purpose: .first, now: now) == nil)
    }

    // MARK: Shares

    @Test("A topic that asks all the time leaves the others their share: they wait two spacings at most")
    func hog() {
        var world = BudgetWorld(perMinute: 60)
        // Ahead of the others in every round, and with many lanes.
        world.askers = (0..<5).map { _ in .init(topic: 1, purpose: .reconnect) }
        world.askers.append(.init(topic: 2, purpose: .reconnect, pause: .milliseconds(4100)))
        world.askers.append(.init(topic: 3, purpose: .reconnect, pause: .milliseconds(7300)))
        world.run(seconds: 200)
        for topic in [2, 3] as [UInt64] {
            let own = world.grants.filter { $0.topic == topic }
            #expect(own.count >= 20)
            // In the minute of the hog's burst the rest comes at twice the distance.
            #expect(own.allSatisfy { $0.waited <= .seconds($0.at < .init(nanoseconds: Self.minute) ? 4 : 2) })
        }
        #expect(world.grants.count >= 180, "and nothing is left over")
    }

    @Test("Topics that ask all the time get equal shares, however many lanes each has")
    func equalShares() {
        var world = BudgetWorld(perMinute: 60)
        for topic in 0..<6 as Range<UInt64> {
            world.askers += (0...topic).map { _ in .init(topic: topic, purpose: .reconnect) }
        }
        world.run(seconds: 300)
        for topic in 0..<6 as Range<UInt64> {
            let count = world.grants.count { $0.topic == topic && $0.at > .init(nanoseconds: 60 * Self.second) }
            #expect((38...42).contains(count), "topic \(topic): \(count)")
        }
    }

    @Test("Among topics with equal shares the one that has waited longest is next, then the smaller number")
    func ties() {
        var budget = ConnectionBudget(perMinute: 1)
        var now = MonotonicTime(nanoseconds: 0)
        #expect(budget.takeConnection(topic: 0, purpose: .reconnect, now: now) == nil)
        let due = now + .seconds(60)
        #expect(budget.takeConnection(topic: 3, purpose: .reconnect, now: now) == due)
        now = now + .seconds(1)
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) == due)
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == due)
        now = due
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == now + .milliseconds(20))
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) == now + .milliseconds(20))
        #expect(budget.takeConnection(topic: 3, purpose: .reconnect, now: now) == nil)
        now = now + .seconds(59) + .milliseconds(900)
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) == due + .seconds(60))
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == due + .seconds(60))
        now = due + .seconds(60)
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) == now + .milliseconds(20))
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil)
    }

    @Test("A topic that does not come at its time keeps the others waiting for half a second only")
    func gone() {
        var budget = ConnectionBudget(perMinute: 1)
        var now = MonotonicTime(nanoseconds: 0)
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: now) == nil)
        now = now + .seconds(30)
        #expect(budget.takeConnection(topic: 2, purpose: .reconnect, now: now) != nil)
        now = now + .seconds(30) + ConnectionBudget.patience
        #expect(budget.takeConnection(topic: 3, purpose: .reconnect, now: now) == now + .milliseconds(20))
        now = now + .milliseconds(20)
        #expect(budget.takeConnection(topic: 3, purpose: .reconnect, now: now) == nil)
    }

    @Test("A topic that neither waits nor had a connection within the minute is forgotten")
    func memory() {
        var budget = ConnectionBudget(perMinute: 60)
        for topic in 0..<10_000 as Range<UInt64> {
            _ = budget.takeConnection(topic: topic, purpose: .reconnect, now: .init(nanoseconds: topic * Self.second))
        }
        #expect(budget.topics.count <= 62)
        _ = budget.takeConnection(topic: 0, purpose: .reconnect, now: .init(nanoseconds: 20_000 * Self.second))
        #expect(budget.topics.count == 1)
    }
}

/// Lanes that want connections and ask as the shell does: at the time they were told, on a tick of 20 ms.
private struct BudgetWorld {
    struct Asker {
        var topic: UInt64
        var purpose: ConnectionBudget.Purpose
        /// After a connection, until the next is wanted.
        var pause = Duration.zero
        var wantsSince = MonotonicTime(nanoseconds: 0)
        var asksAt = MonotonicTime(nanoseconds: 0)
    }

    struct Grant {
        var topic: UInt64
        var purpose: ConnectionBudget.Purpose
        var at: MonotonicTime
        var waited: Duration
    }

    var budget: ConnectionBudget
    var askers: [Asker] = []
    var grants: [Grant] = []

    init(perMinute: Int) {
        budget = ConnectionBudget(perMinute: perMinute)
    }

    mutating func run(seconds: Int) {
        for tick in 0..<UInt64(seconds * 50) {
            let now = MonotonicTime(nanoseconds: tick * 20_000_000)
            for index in askers.indices where askers[index].asksAt <= now {
                let asker = askers[index]
                if let later = budget.takeConnection(topic: asker.topic, purpose: asker.purpose, now: now) {
                    askers[index].asksAt = later
                    continue
                }
                let waited = asker.wantsSince.elapsed(until: now)
                grants.append(Grant(topic: asker.topic, purpose: asker.purpose, at: now, waited: waited))
                askers[index].wantsSince = now + asker.pause
                askers[index].asksAt = askers[index].wantsSince
            }
        }
    }
}
