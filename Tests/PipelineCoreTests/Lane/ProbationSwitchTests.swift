import Testing

@testable import PipelineCore

@Suite struct ProbationSwitchTests {
    private let start = MonotonicTime(nanoseconds: 5_000_000_000)

    @Test("One invalid token turns nothing on, a second one soon after does")
    func rises() {
        var probation = ProbationSwitch()
        probation.noteInvalid(now: start)
        #expect(!probation.isOn(now: start))
        let late = start + ProbationSwitch.rise + .nanoseconds(1)
        probation.noteInvalid(now: late)
        #expect(!probation.isOn(now: late), "too long after the first")
        let soon = late + ProbationSwitch.rise
        probation.noteInvalid(now: soon)
        #expect(probation.isOn(now: soon))
    }

    @Test("It stays on until no invalid token has come for a while")
    func falls() {
        var probation = ProbationSwitch()
        probation.noteInvalid(now: start)
        probation.noteInvalid(now: start)
        let later = start + .seconds(59)
        probation.noteInvalid(now: later)
        #expect(probation.isOn(now: later + .seconds(59)))
        #expect(!probation.isOn(now: later + ProbationSwitch.fall))
    }

    @Test("All is quiet when no token has been called invalid for a while, be probation off before")
    func quiet() {
        var probation = ProbationSwitch()
        #expect(probation.isQuiet(now: start))
        probation.noteInvalid(now: start)
        #expect(!probation.isOn(now: start) && !probation.isQuiet(now: start + .seconds(59)))
        #expect(probation.isQuiet(now: start + ProbationSwitch.fall))
    }
}
