import PipelineCore
import TestSupport
import Testing

@Suite struct MissingCertificateTests {
    private static let grace = Duration.seconds(3600)
    /// UNIX milliseconds at second 0.
    private static let epoch: Int64 = 1_700_000_000_000

    /// One bundle that misses its certificate, seconds as time.
    private struct Bundle {
        var machine = MissingCertificate(grace: MissingCertificateTests.grace, now: at(0))

        mutating func tick(_ seconds: UInt64) -> [MissingCertificate.Action] { machine.tick(now: at(seconds)) }

        mutating func heardSince(_ seconds: Int64?, at now: UInt64) {
            machine.heardSince(
                seconds.map { MissingCertificateTests.epoch + $0 * 1000 },
                unixMilliseconds: MissingCertificateTests.epoch + Int64(now) * 1000,
                now: at(now)
            )
        }

        mutating func heardTokens(_ isAny: Bool?, at now: UInt64) { machine.heardTokens(isAny, now: at(now)) }

        func verdict(_ seconds: UInt64) -> MissingCertificate.Verdict { machine.verdict(now: at(seconds)) }
    }

    /// A bundle that the group has missed for longer than the grace when it is first met here.
    private func overdue() -> Bundle {
        var bundle = Bundle()
        #expect(bundle.tick(0) == [.alarm, .askSince])
        bundle.heardSince(-4000, at: 0)
        return bundle
    }

    @Test("A bundle is given up when the grace is over by the group's count and no token of it is registered")
    func givenUp() {
        var bundle = overdue()
        #expect(bundle.verdict(0) == .waits)
        #expect(bundle.tick(1) == [.askTokens])
        #expect(bundle.verdict(1) == .waits)
        bundle.heardTokens(false, at: 2)
        #expect(bundle.verdict(2) == .giveUp)
    }

    @Test("A bundle with a registered token waits, for ever")
    func registered() {
        var bundle = overdue()
        for second in stride(from: 1, to: 100_000 as UInt64, by: 30) {
            for action in bundle.tick(second) {
                if action == .askSince { bundle.heardSince(-4000, at: second) }
                if action == .askTokens { bundle.heardTokens(true, at: second) }
            }
            #expect(bundle.verdict(second) == .waits)
        }
    }

    @Test("The grace counts from the group's first miss, to the second, also between two answers")
    func counted() {
        var bundle = Bundle()
        _ = bundle.tick(0)
        bundle.heardSince(-3540, at: 0)
        #expect(bundle.tick(59) == [])
        #expect(bundle.tick(60).contains(.askTokens))
        bundle.heardTokens(false, at: 60)
        #expect(bundle.verdict(60) == .giveUp)
        #expect(bundle.verdict(59) == .waits)
    }

    @Test("Tokens are not asked about before the grace is over")
    func tokensLater() {
        var bundle = Bundle()
        for second in stride(from: 0, to: 3600 as UInt64, by: 10) {
            let actions = bundle.tick(second)
            if actions.contains(.askSince) { bundle.heardSince(0, at: second) }
            #expect(!actions.contains(.askTokens))
        }
        #expect(bundle.tick(3600).contains(.askTokens))
    }

    @Test("As long as the group's count is not known the bundle waits, and is asked about once a minute")
    func unknownSince() {
        var bundle = Bundle()
        var asked = 0
        for second in stride(from: 0, to: 36_000 as UInt64, by: 10) {
            let actions = bundle.tick(second)
            #expect(!actions.contains(.askTokens))
            if actions.contains(.askSince) {
                asked += 1
                bundle.heardSince(nil, at: second)
            }
            #expect(bundle.verdict(second) == .waits)
        }
        #expect(asked == 600)
    }

    @Test("As long as it is not known whether tokens are registered the bundle waits")
    func unknownTokens() {
        var bundle = overdue()
        var asked = 0
        for second in stride(from: 1, to: 3600 as UInt64, by: 10) {
            let actions = bundle.tick(second)
            if actions.contains(.askSince) { bundle.heardSince(-4000, at: second) }
            if actions.contains(.askTokens) {
                asked += 1
                bundle.heardTokens(nil, at: second)
            }
            #expect(bundle.verdict(second) == .waits)
        }
        #expect(asked == 60)
    }

    @Test("Nothing is asked again before it was answered")
    func oneAtATime() {
        var bundle = overdue()
        #expect(bundle.tick(1) == [.askTokens])
        #expect(bundle.tick(100) == [.askSince])
        #expect(bundle.tick(590) == [])
        bundle.heardTokens(true, at: 591)
        bundle.heardSince(-4000, at: 591)
        #expect(bundle.tick(592) == [.askSince, .askTokens])
    }

    @Test("Answers count for three minutes: a bundle without newer ones is not given up", arguments: [true, false])
    func stale(tokensFail: Bool) {
        var bundle = overdue()
        _ = bundle.tick(1)
        bundle.heardTokens(false, at: 1)
        #expect(bundle.tick(61) == [.askSince, .askTokens])
        bundle.heardSince(tokensFail ? -4000 : nil, at: 61)
        bundle.heardTokens(tokensFail ? nil : false, at: 61)
        #expect(bundle.verdict(180) == .giveUp)
        #expect(bundle.verdict(182) == .waits)
    }

    @Test("A token that registers ends the giving up with the next answer")
    func registersLate() {
        var bundle = overdue()
        _ = bundle.tick(1)
        bundle.heardTokens(false, at: 1)
        #expect(bundle.verdict(1) == .giveUp)
        _ = bundle.tick(61)
        bundle.heardTokens(true, at: 62)
        #expect(bundle.verdict(62) == .waits)
    }

    @Test("A count that another worker began anew counts, and so a bundle that was given up waits again")
    func begunAnew() {
        var bundle = overdue()
        _ = bundle.tick(1)
        bundle.heardTokens(false, at: 1)
        _ = bundle.tick(61)
        bundle.heardSince(50, at: 61)
        #expect(bundle.verdict(61) == .waits)
    }

    @Test("A time that lies ahead, or is no time, counts as now", arguments: [5000, -1_700_000_000, Int64.min / 2000])
    func absurd(since: Int64) {
        var bundle = Bundle()
        _ = bundle.tick(0)
        bundle.heardSince(since, at: 0)
        #expect(bundle.tick(1) == [])
        #expect(bundle.tick(60) == [.askSince])
        bundle.heardSince(-4000, at: 60)
        #expect(bundle.tick(61) == [.askTokens])
    }

    @Test("The first miss alarms, then one in ten minutes does")
    func alarms() {
        var bundle = Bundle()
        let alarms = (0...1800 as ClosedRange<UInt64>).filter { bundle.tick($0).contains(.alarm) }
        #expect(alarms == [0, 600, 1200, 1800])
    }

    @Test("A bundle that no record asks about is forgotten after ten minutes, but not with a question under way")
    func forgotten() {
        var bundle = Bundle()
        _ = bundle.tick(0)
        #expect(!bundle.machine.isForgotten(now: at(600)))
        bundle.heardSince(nil, at: 1)
        #expect(!bundle.machine.isForgotten(now: at(599)))
        #expect(bundle.machine.isForgotten(now: at(600)))
        bundle.machine.askedAbout(now: at(500))
        #expect(!bundle.machine.isForgotten(now: at(600)))
        #expect(bundle.machine.isForgotten(now: at(1100)))
    }

    @Test("With answers in any order, nothing is given up before the grace is over and none is registered")
    func random() {
        for seed in 0..<200 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var bundle = Bundle()
            var since: Int64?
            var none = false
            var givenUp = 0
            for second in stride(from: 0, to: 20_000 as UInt64, by: 25) {
                for action in bundle.tick(second) {
                    switch action {
                    case .alarm:
                        break
                    case .askSince:
                        let answer = Int.random(in: 0..<4, using: &generator) == 0 ? nil : since ?? Int64(second)
                        bundle.heardSince(answer, at: second)
                        since = answer ?? since
                    case .askTokens:
                        let answer = [true, false, false, nil].randomElement(using: &generator) ?? nil
                        bundle.heardTokens(answer, at: second)
                        if let answer { none = !answer }
                    }
                }
                guard bundle.verdict(second) == .giveUp else { continue }
                givenUp += 1
                #expect(none)
                #expect(since.map { Int64(second) - $0 >= 3600 } == true)
            }
            #expect(givenUp > 0)
        }
    }
}

private func at(_ seconds: UInt64) -> MonotonicTime {
    MonotonicTime(nanoseconds: (1000 + seconds) * 1_000_000_000)
}
