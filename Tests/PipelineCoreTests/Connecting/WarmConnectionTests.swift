import TestSupport
import Testing

@testable import PipelineCore

/// When a connection is to be open though nothing is to be sent.
@Suite struct WarmConnectionTests {
    private static let limits = LaneLimits(
        backoff: Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        topicBackoff: Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10))
    )
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    /// Says the wish, and lets an attempt to connect fail.
    private func ended(
        _ warmth: inout WarmConnection,
        isFirst: Bool = false,
        now: MonotonicTime = WarmConnectionTests.start,
        random: UInt64 = .max
    ) {
        var failures = isFirst ? 0 : 1
        warmth.want(now: now)
        _ = warmth.countFailure(
            isForWarmth: true,
            lived: nil,
            isRefused: false,
            failures: &failures,
            limits: Self.limits,
            now: now,
            random: random
        )
    }

    @Test("The wish lapses soon after it was said last")
    func lapses() {
        var warmth = WarmConnection()
        #expect(!warmth.wasWanted && !warmth.isWanted(now: Self.start))
        warmth.want(now: Self.start)
        #expect(warmth.wasWanted && warmth.isWanted(now: Self.start) && warmth.isDue(now: Self.start))
        let end = Self.start + WarmConnection.lease
        #expect(!warmth.isWanted(now: end) && !warmth.isDue(now: end) && warmth.wasWanted)
        warmth.lapse(now: end)
        #expect(!warmth.wasWanted)
        warmth.want(now: end)
        warmth.lapse(now: end)
        #expect(warmth.isDue(now: end))
    }

    @Test("Each end without a use doubles the longest wait, up to the cap")
    func grows() {
        var warmth = WarmConnection()
        for ends in 1...9 {
            ended(&warmth)
            let wait = Duration.seconds(min(60, 1 << (ends - 1)))
            let (early, due) = (Self.start + (wait - .milliseconds(1)), Self.start + wait)
            warmth.want(now: early)
            #expect(!warmth.isDue(now: early) && warmth.isWanted(now: early))
            warmth.want(now: due)
            #expect(warmth.isDue(now: due))
        }
    }

    @Test(
        "A failure counts for warmth alone, though the wish has lapsed since, or for notifications alone",
        arguments: [false, true],
        [false, true]
    )
    func counts(isForWarmth: Bool, isWanted: Bool) {
        for isRefused in [false, true] {
            var warmth = WarmConnection()
            if isWanted { warmth.want(now: Self.start) }
            let former = warmth
            var failures = 3
            let wait = warmth.countFailure(
                isForWarmth: isForWarmth,
                lived: nil,
                isRefused: isRefused,
                failures: &failures,
                limits: Self.limits,
                now: Self.start,
                random: .max
            )
            #expect(failures == (isForWarmth ? 3 : 4) && (warmth != former) == isForWarmth)
            let backoff = isRefused && !isForWarmth ? Self.limits.topicBackoff : Self.limits.backoff
            #expect(wait == backoff.delay(failures: failures, random: .max))
        }
    }

    @Test("After an end that is called the first the wait is the shortest again")
    func beginsAnew() {
        var warmth = WarmConnection()
        for _ in 0..<9 { ended(&warmth) }
        ended(&warmth, isFirst: true)
        let due = Self.start + .seconds(1)
        warmth.want(now: due)
        #expect(warmth.isDue(now: due))
    }

    @Test(
        "Between two attempts at a gateway that ends each connection lies a wait, whatever the chances",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func noStorm(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var warmth = WarmConnection()
        var now = Self.start
        var attempts: [MonotonicTime] = []
        for _ in 0..<500 {
            warmth.want(now: now)
            if warmth.isDue(now: now) {
                attempts.append(now)
                let lasted = Duration.milliseconds(Int64.random(in: 0..<60_000, using: &random))
                now = now + lasted
                ended(&warmth, isFirst: Bool.random(using: &random), now: now, random: random.next())
            } else {
                now = now + .milliseconds(100)
            }
        }
        for (former, next) in zip(attempts, attempts.dropFirst()) {
            #expect(former + Self.limits.backoff.floor <= next)
        }
    }
}
