import Testing

@testable import PipelineCore

/// The stop of a topic, its probes, and its return.
@Suite struct AppHealthTests {
    private var health = AppHealth(limits: .forTests())
    private var now = MonotonicTime(nanoseconds: 0)

    private mutating func stop(_ reason: AppHealth.Reason) {
        health.failed(reason, now: now, random: .max)
    }

    private var until: MonotonicTime? {
        switch health.state {
        case .works: nil
        case .stopped(_, let until), .probing(_, _, let until): until
        }
    }

    /// Goes to the end of the wait and grants the lease.
    private mutating func probe(shard: Int = 0) {
        now = until ?? now
        let isGranted = health.beginProbe(shard: shard, now: now, random: 0)
        #expect(isGranted)
    }

    private mutating func accept(_ count: Int = 1, shard: Int = 0) {
        health.accepted(count, connectionOpenedAt: now, shard: shard, now: now)
    }

    private mutating func refuse(_ count: Int = 1, shard: Int = 0) {
        for _ in 0..<count { _ = health.tokenRefused(shard: shard, now: now, random: .max) }
    }

    // MARK: Stopped

    @Test("A failure stops the topic, and while it is stopped another is no news")
    mutating func stops() {
        #expect(health.works && health.reason == nil)
        stop(.certificateRefused)
        let state = health.state
        #expect(health.isStopped && !health.works && health.reason == .certificateRefused)
        now = now + .seconds(1)
        stop(.topicRefused)
        #expect(health.state == state)
    }

    @Test("A failure shortly before a probe puts it off by the floor")
    mutating func putOff() {
        stop(.certificateRefused)
        now = now + .seconds(29)
        stop(.certificateRefused)
        let tooEarly = health.beginProbe(shard: 0, now: now + .milliseconds(9999), random: 0)
        #expect(!tooEarly)
        let inTime = health.beginProbe(shard: 0, now: now + .seconds(10), random: 0)
        #expect(inTime)
    }

    @Test("Answers that come while the topic is stopped do not end the stop", arguments: AppHealth.Reason.allCases)
    mutating func lateAnswers(reason: AppHealth.Reason) {
        stop(reason)
        let state = health.state
        accept()
        health.contentRefused(shard: 0, now: now)
        refuse()
        health.connectionFailed(shard: 0, now: now, random: 0)
        health.endProbe(shard: 0, now: now, random: 0)
        #expect(health.state == state)
    }

    @Test("A topic that works is not probed")
    mutating func noProbe() {
        let granted = health.beginProbe(shard: 0, now: now, random: 0)
        #expect(!granted && health.works)
    }

    // MARK: Probing

    @Test("The lease is granted when the wait is over, to one shard alone")
    mutating func oneProber() {
        stop(.unreachable)
        let early = health.beginProbe(shard: 1, now: MonotonicTime(nanoseconds: 29_999_999_998), random: 0)
        #expect(!early && health.isStopped)
        probe(shard: 1)
        #expect(health.isProbing(by: 1) && !health.isProbing(by: 0) && !health.isStopped && !health.works)
        #expect(health.state == .probing(.unreachable, shard: 1, until: now + .seconds(20)))
        for shard in 0...1 {
            let again = health.beginProbe(shard: shard, now: now, random: 0)
            #expect(!again)
        }
        #expect(health.isProbing(by: 1))
    }

    @Test("Failures in a row wait ever longer, up to the cap; progress forgets them")
    mutating func backOff() {
        var waits: [Duration] = []
        for _ in 0..<6 {
            stop(.topicRefused)
            waits.append(now.elapsed(until: until ?? now))
            probe()
        }
        #expect(waits.map { $0.components.seconds } == [29, 59, 119, 239, 299, 299])
        accept()
        #expect(health.works)
        stop(.topicRefused)
        #expect(now.elapsed(until: until ?? now) <= .seconds(30))
    }

    @Test("A probe that fails for another reason stops the topic for that reason")
    mutating func otherReason() {
        stop(.unreachable)
        probe()
        stop(.certificateRefused)
        #expect(health.isStopped && health.reason == .certificateRefused)
    }

    @Test("A connection that fails is the topic's failure only at the shard that probes")
    mutating func connections() {
        health.connectionFailed(shard: 0, now: now, random: 0)
        #expect(health.works)
        stop(.unreachable)
        probe(shard: 1)
        health.connectionFailed(shard: 0, now: now, random: 0)
        #expect(health.isProbing(by: 1))
        health.connectionFailed(shard: 1, now: now, random: .max)
        #expect(health.isStopped && health.reason == .unreachable)
        #expect(now.elapsed(until: until ?? now) > .seconds(30))
    }

    @Test("Any answer about one notification shows the prober that the topic works", arguments: 0..<3)
    mutating func progress(kind: Int) {
        for reason in AppHealth.Reason.allCases where reason != .tokensDoubted {
            self = Self()
            stop(reason)
            probe(shard: 2)
            answer(kind, shard: 1)
            #expect(health.isProbing(by: 2), "an answer at another shard is to what was sent before the stop")
            answer(kind, shard: 2)
            #expect(health.works)
        }
    }

    private mutating func answer(_ kind: Int, shard: Int) {
        switch kind {
        case 0: accept(shard: shard)
        case 1: health.contentRefused(shard: shard, now: now)
        default: refuse(shard: shard)
        }
    }

    @Test("No acceptance at all is no progress")
    mutating func nothingAccepted() {
        stop(.unreachable)
        probe()
        accept(0)
        #expect(health.isProbing(by: 0))
    }

    @Test("A lease without a word has failed when its time is over, and the next wait is longer")
    mutating func leaseRunsOut() {
        stop(.unreachable)
        probe()
        health.tick(now: now + .milliseconds(19_999), random: .max)
        #expect(health.isProbing(by: 0))
        now = now + .seconds(20)
        health.tick(now: now, random: .max)
        #expect(health.isStopped && health.reason == .unreachable)
        #expect(now.elapsed(until: until ?? now).components.seconds == 59)
    }

    @Test("A shard that asks for the lease finds one that ran out, and waits for longer as after any failed probe")
    mutating func leaseTakenOver() {
        stop(.unreachable)
        probe(shard: 0)
        now = now + .seconds(20)
        let granted = health.beginProbe(shard: 1, now: now, random: .max)
        #expect(!granted && health.isStopped)
        #expect(now.elapsed(until: until ?? now).components.seconds == 59)
        probe(shard: 1)
    }

    @Test("A prober with nothing to send leaves the probe to another at once, and that is no failure")
    mutating func givesBack() {
        stop(.unreachable)
        probe(shard: 0)
        health.endProbe(shard: 1, now: now, random: .max)
        #expect(health.isProbing(by: 0), "only the prober gives the lease back")
        health.endProbe(shard: 0, now: now, random: .max)
        #expect(health.state == .stopped(.unreachable, until: now))
        probe(shard: 1)
        stop(.unreachable)
        #expect(now.elapsed(until: until ?? now).components.seconds == 59, "the second failure in a row")
    }

    @Test("A lease that ran out is not given back: it has failed")
    mutating func givesBackTooLate() {
        stop(.unreachable)
        probe()
        now = now + .seconds(20)
        health.endProbe(shard: 0, now: now, random: .max)
        #expect(health.isStopped)
        #expect(now.elapsed(until: until ?? now).components.seconds == 59)
    }

    @Test("A prober that waits for the connection budget keeps its lease, however long that takes")
    mutating func waitsForBudget() {
        stop(.unreachable)
        probe()
        for _ in 0..<100 {
            now = now + .seconds(19)
            health.probeWaitsForBudget(shard: 1, now: now)
            health.probeWaitsForBudget(shard: 0, now: now)
            health.tick(now: now, random: .max)
            #expect(health.isProbing(by: 0))
        }
        now = now + .seconds(19)
        health.tick(now: now, random: .max)
        #expect(health.isProbing(by: 0))
        now = now + .seconds(1)
        health.probeWaitsForBudget(shard: 1, now: now)
        health.tick(now: now, random: .max)
        #expect(health.isStopped, "only the prober's waits count")
        health.probeWaitsForBudget(shard: 0, now: now)
        #expect(health.isStopped)
    }

    @Test("Reasons have names for metrics and logs")
    func names() {
        #expect(
            AppHealth.Reason.allCases.map(\.rawValue) == [
                "certificate-refused", "topic-refused", "tokens-doubted", "team-refused", "service-trouble",
                "proxy-refused", "unreachable",
            ]
        )
    }
}

extension AppHealth.Limits {
    static func forTests(
        share: Double = 0.5,
        refusedSample: Int = 10,
        probeSample: Int = 4,
        pendingTombstones: Int = 1000
    ) -> Self {
        Self(
            probe: Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10)),
            probeTimeout: .seconds(20),
            refusedShare: share,
            refusedSample: refusedSample,
            probeSample: probeSample,
            pendingTombstones: pendingTombstones
        )
    }
}
