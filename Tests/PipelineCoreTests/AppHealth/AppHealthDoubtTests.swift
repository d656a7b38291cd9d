import Testing

@testable import PipelineCore

/// A gateway that calls too many tokens invalid is doubted, not the tokens.
@Suite struct AppHealthDoubtTests {
    private var health = AppHealth(limits: .forTests(share: 0.2))
    private var now = MonotonicTime(nanoseconds: 0)

    private mutating func use(share: Double, refusedSample: Int = 10, probeSample: Int = 4) {
        health = AppHealth(
            limits: .forTests(share: share, refusedSample: refusedSample, probeSample: probeSample)
        )
    }

    private mutating func note(accepted: Int = 0, refused: Int = 0, shard: Int = 0) {
        health.accepted(accepted, connectionOpenedAt: now, shard: shard, now: now)
        for _ in 0..<refused { _ = health.tokenRefused(shard: shard, now: now, random: .max) }
    }

    /// Stops the topic for its refused tokens, and goes to the end of the wait.
    private mutating func doubt(probedBy shard: Int = 0) {
        health.failed(.tokensDoubted, now: now, random: .max)
        guard case .stopped(_, let until) = health.state else { return }
        now = until
        let isGranted = health.beginProbe(shard: shard, now: now, random: 0)
        #expect(isGranted)
    }

    private var isDoubted: Bool { health.isStopped && health.reason == .tokensDoubted }

    // MARK: The latest answers

    @Test("The topic stops when the share of refused tokens is exceeded, not when it is reached")
    mutating func share() {
        note(accepted: 8, refused: 2)
        #expect(health.works)
        note(refused: 1)
        #expect(isDoubted)
    }

    @Test("Below the sample nothing is judged, however bad it looks")
    mutating func sample() {
        note(refused: 9)
        #expect(health.works)
        note(refused: 1)
        #expect(isDoubted)
    }

    @Test("A sample that an acceptance completes is judged at the next tick")
    mutating func tick() {
        note(refused: 9)
        note(accepted: 1)
        #expect(health.works)
        health.tick(now: now, random: 0)
        #expect(isDoubted)
    }

    @Test("The answers at all shards are judged together")
    mutating func allShards() {
        for shard in 0..<10 { note(refused: 1, shard: shard) }
        #expect(isDoubted)
    }

    @Test("A long good past does not hide that a gateway calls every token invalid now")
    mutating func recentAnswersCount() {
        note(accepted: 1_000_000)
        note(refused: 10)
        #expect(isDoubted)
    }

    @Test("A bad past is forgotten once enough is accepted")
    mutating func oldAnswersAreForgotten() {
        note(refused: 9)
        note(accepted: 100)
        note(refused: 1)
        health.tick(now: now, random: 0)
        #expect(health.works)
    }

    @Test("Counts that hold two samples are halved, and those that hold one answer less are not")
    func halved() {
        var counts = AnswerCounts(accepted: 11, refused: 8)
        counts.forget(beyond: 10)
        #expect(counts == AnswerCounts(accepted: 11, refused: 8))
        counts.accepted += 1
        counts.forget(beyond: 10)
        #expect(counts == AnswerCounts(accepted: 6, refused: 4))
    }

    @Test("A share of 1 never doubts, a share of 0 does at the first refused token of a full sample")
    mutating func extremes() {
        use(share: 1, refusedSample: 1)
        note(refused: 100)
        #expect(health.works)
        use(share: 0)
        note(accepted: 9)
        #expect(health.works)
        note(refused: 1)
        #expect(isDoubted)
    }

    @Test("An acceptance that was presumed wrongly is taken back, and none is owed")
    mutating func presumedWrong() {
        use(share: 0.5)
        note(accepted: 8, refused: 2)
        health.presumedWrong(6)
        note(refused: 6)
        #expect(isDoubted, "8 of 10")
        use(share: 0.5)
        health.presumedWrong(100)
        note(refused: 10)
        #expect(isDoubted)
    }

    // MARK: The sample of a probe

    @Test("One acceptance does not clear a doubted gateway, a fair sample does")
    mutating func sampleGood() {
        use(share: 0.5)
        doubt()
        note(accepted: 1)
        #expect(health.isProbing(by: 0), "one accepted notification proves nothing here")
        note(refused: 2)
        health.contentRefused(shard: 0, now: now)
        #expect(health.isProbing(by: 0), "a refused payload says nothing about tokens")
        note(accepted: 1)
        #expect(health.works)
    }

    @Test("A sample with too many refusals stops the topic again, for longer")
    mutating func sampleBad() {
        use(share: 0.5)
        doubt()
        note(accepted: 1, refused: 2)
        #expect(health.isProbing(by: 0))
        note(refused: 1)
        #expect(isDoubted)
        guard case .stopped(_, let until) = health.state else { return }
        #expect(now.elapsed(until: until).components.seconds == 59)
    }

    @Test(
        "A sample is decided with its last judged notification at the latest, whatever the share",
        arguments: 0...100
    )
    mutating func sampleEnds(percent: Int) {
        for refused in 0...50 {
            use(share: Double(percent) / 100, probeSample: 50)
            doubt()
            note(accepted: 50 - refused)
            if health.isProbing(by: 0) { note(refused: refused) }
            // In integers, as a person would reckon it.
            #expect(health.works == (refused * 100 <= percent * 50), "\(refused)")
            #expect(health.works != isDoubted)
        }
    }

    @Test("Each probe judges a sample of its own")
    mutating func sampleAnew() {
        use(share: 0.5)
        doubt()
        note(accepted: 1, refused: 2)
        health.connectionFailed(shard: 0, now: now, random: 0)
        #expect(isDoubted)
        doubt()
        note(refused: 2)
        #expect(health.isProbing(by: 0))
        note(accepted: 1)
        #expect(health.isProbing(by: 0))
    }

    @Test("Only the prober's answers are the sample")
    mutating func sampleOfOneShard() {
        use(share: 0.5)
        doubt(probedBy: 1)
        note(accepted: 100, refused: 100, shard: 0)
        #expect(health.isProbing(by: 1))
        note(accepted: 2, shard: 1)
        #expect(health.works)
    }

    @Test("Each answer to the prober renews its lease, whatever it says")
    mutating func leaseRenewed() {
        use(share: 0.5, probeSample: 100)
        doubt()
        for kind in 0..<3 {
            now = now + .seconds(19)
            switch kind {
            case 0: note(accepted: 1)
            case 1: note(refused: 1)
            default: health.contentRefused(shard: 0, now: now)
            }
            #expect(health.state == .probing(.tokensDoubted, shard: 0, until: now + .seconds(20)))
        }
        health.tick(now: now + .seconds(20), random: 0)
        #expect(isDoubted)
    }

    @Test(
        "A sample that nothing is left for is judged as it is",
        arguments: [(1, 1, true), (1, 2, false), (0, 0, nil)] as [(Int, Int, Bool?)]
    )
    mutating func sampleShort(accepted: Int, refused: Int, passes: Bool?) {
        use(share: 0.5, probeSample: 100)
        doubt()
        note(accepted: accepted, refused: refused)
        health.endProbe(shard: 0, now: now, random: .max)
        #expect(health.works == (passes == true))
        #expect(isDoubted == (passes != true))
        let isGranted = health.beginProbe(shard: 1, now: now, random: 0)
        #expect(isGranted == (passes == nil), "a failed sample is followed by a wait, a lease given back is not")
    }

    @Test("Presumed acceptances of a sample are taken back, too")
    mutating func sampleTakenBack() {
        use(share: 0.5)
        doubt()
        note(accepted: 1)
        health.presumedWrong(5)
        note(accepted: 1)
        #expect(health.isProbing(by: 0))
        note(accepted: 1)
        #expect(health.works)
    }

    @Test("After a sample has passed the latest answers are counted anew")
    mutating func countedAnew() {
        use(share: 0.5)
        note(refused: 10)
        #expect(isDoubted)
        note(refused: 100)
        doubt()
        note(accepted: 2)
        #expect(health.works)
        note(refused: 9)
        health.tick(now: now, random: 0)
        #expect(health.works)
        note(refused: 1)
        #expect(isDoubted)
    }

    @Test("Acceptances that come late while the topic is stopped do not weigh against the doubt")
    mutating func lateAcceptances() {
        note(accepted: 2, refused: 8)
        note(accepted: 1000)
        health.presumedWrong(1000)
        #expect(isDoubted)
        doubt()
        health.failed(.unreachable, now: now, random: 0)
        guard case .stopped(.unreachable, let until) = health.state else {
            Issue.record("a probe that fails for another reason")
            return
        }
        now = until
        let isGranted = health.beginProbe(shard: 0, now: now, random: 0)
        #expect(isGranted)
        note(accepted: 1)
        #expect(health.works)
        health.tick(now: now, random: 0)
        #expect(isDoubted, "the doubt outlives the other reason until a sample has passed")
    }
}
