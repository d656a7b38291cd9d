import Testing

@testable import PipelineCore

/// When a topic is parked, probed, and sent to again.
@Suite struct TopicBreakerTests {
    private static let probe = Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10))

    private var breaker = TopicBreaker(probe: Self.probe, patience: .seconds(60), refusedShare: 0.5, sampleSize: 4)
    private var now = MonotonicTime(nanoseconds: 0)

    private mutating func open(_ reason: TopicBreaker.Reason) {
        breaker.failed(reason, now: now, random: .max)
    }

    private mutating func probeNow() {
        guard case .open(_, let until) = breaker.state else { return }
        now = until
        breaker.tick(isQuiet: true, now: now)
    }

    @Test("A failure opens it, and while it is open another is no news")
    mutating func opens() {
        open(.certificateRefused)
        let state = breaker.state
        #expect(breaker.isOpen && breaker.reason == .certificateRefused)
        now = now + .seconds(1)
        open(.topicRefused)
        #expect(breaker.state == state)
    }

    @Test("A failure shortly before a probe puts it off, so that no connection follows a failure at once")
    mutating func putOff() {
        open(.certificateRefused)
        now = now + .seconds(29)
        open(.certificateRefused)
        breaker.tick(isQuiet: true, now: now + .seconds(9))
        #expect(breaker.isOpen)
        breaker.tick(isQuiet: true, now: now + .seconds(10))
        #expect(breaker.isHalfOpen)
    }

    @Test("It is probed when the wait is over and nothing is in flight, not before")
    mutating func probes() {
        open(.certificateRefused)
        breaker.tick(isQuiet: true, now: now + .seconds(29))
        #expect(breaker.isOpen)
        breaker.tick(isQuiet: false, now: now + .seconds(30))
        #expect(breaker.isOpen)
        breaker.tick(isQuiet: true, now: now + .seconds(30))
        #expect(breaker.isHalfOpen)
    }

    @Test("Progress closes it; a failure opens it again, for longer from time to time; closing forgets that")
    mutating func halfOpen() {
        var waits: [Duration] = []
        for _ in 0..<6 {
            open(.topicRefused)
            guard case .open(_, let until) = breaker.state else { return }
            waits.append(now.elapsed(until: until))
            probeNow()
        }
        #expect(waits.map { $0.components.seconds } == [29, 59, 119, 239, 299, 299])
        breaker.accepted(1)
        #expect(breaker.isClosed)
        open(.topicRefused)
        guard case .open(_, let until) = breaker.state else { return }
        #expect(now.elapsed(until: until) <= .seconds(30))
    }

    @Test("A connection that fails is the topic's failure only while it is probed")
    mutating func connections() {
        breaker.connectionFailed(now: now, random: 0)
        #expect(breaker.isClosed)
        open(.unreachable)
        probeNow()
        breaker.connectionFailed(now: now, random: 0)
        #expect(breaker.isOpen)
    }

    @Test("A refusal that is about one notification shows that the topic works")
    mutating func refusals() {
        open(.topicRefused)
        probeNow()
        breaker.contentRefused()
        #expect(breaker.isClosed)
        open(.topicRefused)
        probeNow()
        let isSuspect = breaker.tokenRefused(now: now, random: 0)
        #expect(!isSuspect && breaker.isClosed)
    }

    @Test("Something that waits for longer than the patience, and silence's time, while nothing goes through opens it")
    mutating func standstill() {
        let allowance = Duration.seconds(2)
        func wait(_ breaker: inout TopicBreaker, at seconds: Int) {
            breaker.noteWaiting(true, allowance: allowance, now: now + .seconds(seconds), random: 0)
        }
        wait(&breaker, at: 0)
        wait(&breaker, at: 61)
        #expect(breaker.isClosed)
        breaker.accepted(1)
        wait(&breaker, at: 62)
        wait(&breaker, at: 123)
        #expect(breaker.isClosed)
        breaker.noteWaiting(false, allowance: allowance, now: now + .seconds(123), random: 0)
        wait(&breaker, at: 124)
        wait(&breaker, at: 185)
        #expect(breaker.isClosed)
        wait(&breaker, at: 186)
        #expect(breaker.isOpen && breaker.reason == .unreachable)
    }

    @Test("After doubted tokens a sample is judged, and refusals are held until it is")
    mutating func sampleBad() {
        open(.tokensDoubted)
        probeNow()
        #expect(breaker.holdsRefusals)
        breaker.accepted(1)
        #expect(breaker.isHalfOpen, "one accepted notification proves nothing here")
        for count in 1...3 {
            let isSuspect = breaker.tokenRefused(now: now, random: 0)
            #expect(isSuspect)
            #expect(breaker.isOpen == (count == 3))
        }
    }

    @Test("While a topic is parked because its tokens are doubted, answers that come late are, too")
    mutating func doubts() {
        #expect(!breaker.doubtsTokens)
        open(.tokensDoubted)
        #expect(breaker.doubtsTokens)
        probeNow()
        #expect(!breaker.doubtsTokens && breaker.holdsRefusals)
        for _ in 0..<3 { _ = breaker.tokenRefused(now: now, random: 0) }
        #expect(breaker.doubtsTokens)
        var other = TopicBreaker(probe: Self.probe, patience: .seconds(60), refusedShare: 0.5, sampleSize: 4)
        other.failed(.unreachable, now: now, random: 0)
        #expect(!other.doubtsTokens)
    }

    @Test("A sample with a fair share of refusals closes it")
    mutating func sampleGood() {
        open(.tokensDoubted)
        probeNow()
        _ = breaker.tokenRefused(now: now, random: 0)
        breaker.contentRefused()
        #expect(breaker.isHalfOpen, "a refused payload says nothing about tokens")
        breaker.accepted(2)
        #expect(breaker.isClosed)
    }

    @Test(
        "A sample that nothing is left for is judged as it is",
        arguments: [(1, 1, true), (1, 2, false), (0, 0, nil)] as [(Int, Int, Bool?)]
    )
    mutating func sampleShort(accepted: Int, refused: Int, closes: Bool?) {
        breaker = TopicBreaker(probe: Self.probe, patience: .seconds(60), refusedShare: 0.5, sampleSize: 100)
        open(.tokensDoubted)
        probeNow()
        breaker.accepted(accepted)
        for _ in 0..<refused { _ = breaker.tokenRefused(now: now, random: 0) }
        breaker.sampleExhausted(now: now, random: 0)
        #expect(breaker.isClosed == (closes == true))
        #expect(breaker.isOpen == (closes == false))
    }

    @Test("A topic that another worker left parked is probed first")
    mutating func inherits() {
        breaker.inherit()
        #expect(breaker.isHalfOpen && !breaker.holdsRefusals)
        breaker.accepted(1)
        #expect(breaker.isClosed)
    }
}
