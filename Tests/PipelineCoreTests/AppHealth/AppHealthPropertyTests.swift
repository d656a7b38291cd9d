import TestSupport
import Testing

@testable import PipelineCore

/// Random events at several shards, against what must always hold.
@Suite struct AppHealthPropertyTests {
    @Test(
        "With events in any order one shard probes at most, none too early, and each tombstone has its own acceptance",
        arguments: trials(60)
    )
    func anything(seed: UInt64) {
        var world = HealthWorld(seed: seed, accepts: true)
        for _ in 0..<2000 { world.step() }
        #expect(world.problems.isEmpty, "\(world.problems.prefix(3))")
        #expect(world.grants > 0)
    }

    @Test("The random worlds reach every state, and tombstones")
    func reachesAll() {
        var reasons: Set<AppHealth.Reason> = []
        var trusted: UInt64 = 0
        for seed in 0..<20 as Range<UInt64> {
            var world = HealthWorld(seed: seed, accepts: true)
            for _ in 0..<2000 { world.step() }
            reasons.formUnion(world.probed)
            trusted += world.health.trustedThrough
        }
        #expect(reasons == Set(AppHealth.Reason.allCases))
        #expect(trusted > 100)
    }

    @Test("A gateway that refuses every token is never believed", arguments: 0..<30 as Range<UInt64>)
    func refusesAll(seed: UInt64) {
        var world = HealthWorld(seed: seed, accepts: false)
        for _ in 0..<2000 { world.step() }
        #expect(world.health.trustedThrough == 0)
        #expect(world.refusals > 0)
        #expect(world.problems.isEmpty, "\(world.problems.prefix(3))")
    }

    @Test("The same events lead to the same value", arguments: 0..<5 as Range<UInt64>)
    func deterministic(seed: UInt64) {
        var first = HealthWorld(seed: seed, accepts: true)
        var second = HealthWorld(seed: seed, accepts: true)
        for _ in 0..<500 {
            first.step()
            second.step()
            #expect(first.health == second.health)
        }
    }
}

/// A topic under random events, and the books about it.
private struct HealthWorld {
    private(set) var health: AppHealth
    private(set) var problems: [String] = []
    private(set) var probed: Set<AppHealth.Reason> = []
    private(set) var grants = 0
    private(set) var refusals = 0

    private var generator: SeededGenerator
    private let accepts: Bool
    private let limit: Int
    private var now = MonotonicTime(nanoseconds: 0)
    /// The times of the refusals with a ticket; the ticket is the index plus 1.
    private var refusedAt: [MonotonicTime] = []
    /// For each acceptance of a batch: when its connection was opened, and how many refusals had been made by then.
    private var acceptances: [(openedAt: MonotonicTime, count: Int, lastTicket: Int)] = []
    /// Since when a probe is allowed.
    private var noProbeBefore: MonotonicTime?
    private var lastTrusted: UInt64 = 0
    /// Refusals that wait no more: they were believed, or have waited for too long.
    private var settled = 0
    /// Tickets of the latter.
    private var expired: Set<Int> = []

    init(seed: UInt64, accepts: Bool) {
        var generator = SeededGenerator(seed: seed)
        limit = generator.pick(1...60)
        health = AppHealth(
            limits: .forTests(
                share: 0.5,
                refusedSample: generator.pick(1...30),
                probeSample: generator.pick(1...6),
                pendingTombstones: limit
            )
        )
        self.generator = generator
        self.accepts = accepts
    }

    mutating func step() {
        now = now + .milliseconds(generator.pick(0...(generator.chance(10) ? 60_000 : 500)))
        let before = health
        let shard = generator.pick(0...3)
        switch generator.pick(0...99) {
        case 0..<3: fail()
        case 3..<6: health.connectionFailed(shard: shard, now: now, random: generator.next())
        case 6..<40 where accepts: accept(shard: shard)
        case 40..<45: health.presumedWrong(generator.pick(0...3))
        case 45..<50: health.contentRefused(shard: shard, now: now)
        case 50..<70: refuse(shard: shard)
        case 70..<85: begin(shard: shard)
        case 85..<90: health.endProbe(shard: shard, now: now, random: generator.next())
        default: tick()
        }
        checkStates(before)
        checkTrust(before)
    }

    private mutating func fail() {
        let reason = AppHealth.Reason.allCases.randomElement(using: &generator) ?? .unreachable
        health.failed(reason, now: now, random: generator.next())
    }

    private mutating func accept(shard: Int) {
        let openedAt = MonotonicTime(
            nanoseconds: now.nanoseconds - min(now.nanoseconds, UInt64(generator.pick(0...20)) * 1_000_000_000)
        )
        let count = generator.pick(1...3)
        acceptances.append((openedAt, count, refusedAt.count))
        health.accepted(count, connectionOpenedAt: openedAt, shard: shard, now: now)
    }

    private mutating func refuse(shard: Int) {
        settled = max(settled, Int(health.trustedThrough))
        let waiting = refusedAt.count - settled
        let ticket = health.tokenRefused(shard: shard, now: now, random: generator.next())
        refusals += 1
        if waiting == limit {
            if ticket != 0 { problems.append("ticket \(ticket) beyond the bound") }
        } else {
            refusedAt.append(now)
            if ticket != UInt64(refusedAt.count) { problems.append("ticket \(ticket) out of turn") }
        }
    }

    private mutating func tick() {
        while settled < refusedAt.count, refusedAt[settled] + TokenTrust.patience <= now {
            settled += 1
            expired.insert(settled)
        }
        health.tick(now: now, random: generator.next())
        if health.distrustedThrough > settled { problems.append("ticket \(health.distrustedThrough) expired early") }
    }

    private mutating func begin(shard: Int) {
        let before = health.state
        let granted = health.beginProbe(shard: shard, now: now, random: generator.next())
        guard granted else { return }
        grants += 1
        if let reason = health.reason { probed.insert(reason) }
        if let noProbeBefore, now < noProbeBefore { problems.append("probed before \(noProbeBefore)") }
        if case .probing(_, let other, let until) = before, now < until {
            problems.append("second prober to \(other)")
        }
        if !health.isProbing(by: shard) { problems.append("granted to another than \(shard)") }
    }

    /// A probe begins only by a grant, and no sooner than the floor after a failure.
    private mutating func checkStates(_ before: AppHealth) {
        let probers = (0...3).filter { health.isProbing(by: $0) }
        if probers.count > 1 { problems.append("probers \(probers)") }
        if [health.works, health.isStopped, probers.count == 1].filter(\.self).count != 1 {
            problems.append("not in one state")
        }
        if case .probing(_, let shard, _) = before.state, case .probing(_, let other, _) = health.state, shard != other
        {
            problems.append("the lease went from \(shard) to \(other)")
        }
        if before.isStopped, health.works { problems.append("works without a probe") }
        if !before.isStopped, health.isStopped, case .stopped(_, let until) = health.state {
            // Given back without a failure: at once. Else no sooner than the floor.
            if until != now, until < now + .seconds(10) { problems.append("too short a wait") }
            noProbeBefore = until
        }
    }

    /// Among the refusals up to each ticket, every trusted one has an acceptance of its own over a newer connection.
    private mutating func checkTrust(_ before: AppHealth) {
        let trusted = health.trustedThrough
        guard trusted != lastTrusted else { return }
        if trusted < lastTrusted || trusted > UInt64(refusedAt.count) { problems.append("trusted \(trusted)") }
        if before.reason == .tokensDoubted { problems.append("paid while doubted") }
        // Invariant: the refusals from any ticket on that are trusted are no more than the acceptances that came after
        // the first of them over connections no older than it.
        var paying = 0
        var acceptance = acceptances.count
        var believed = 0
        for ticket in stride(from: Int(trusted), through: 1, by: -1) {
            while acceptance > 0, acceptances[acceptance - 1].lastTicket >= ticket {
                acceptance -= 1
                paying += acceptances[acceptance].count
            }
            let newer = acceptances[acceptance...].reduce(0) {
                $0 + ($1.openedAt >= refusedAt[ticket - 1] ? $1.count : 0)
            }
            if !expired.contains(ticket) { believed += 1 }
            if believed > min(paying, newer) { problems.append("ticket \(ticket) is not paid") }
            if Int(trusted) - ticket > 80 { break }
        }
        lastTrusted = trusted
    }
}
