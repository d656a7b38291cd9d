import PipelineCore
import Testing

@Suite("The start of a partition without a commit")
struct FirstStartTests {
    private func decide(
        _ log: Range<Int64> = 5..<9,
        mark: FirstStart.Mark = .missing,
        groupHasCommits: Bool = false,
        hasOutcomes: Bool = false,
        sendsWithoutRedis: Bool = false,
        policy: FirstStartPolicy = .stand
    ) -> FirstStart.Decision {
        FirstStart.decide(
            low: log.lowerBound,
            high: log.upperBound,
            mark: mark,
            groupHasCommits: groupHasCommits,
            hasOutcomes: hasOutcomes,
            sendsWithoutRedis: sendsWithoutRedis,
            policy: policy
        )
    }

    @Test("A fresh installation starts at the beginning, whatever the operator has chosen for others")
    func fresh() {
        for policy in FirstStartPolicy.allCases { #expect(decide(policy: policy) == .start(at: 5)) }
    }

    @Test("A partition that was read before stands, unless the operator has chosen")
    func marked() {
        for groupHasCommits in [false, true] {
            #expect(decide(mark: .present, groupHasCommits: groupHasCommits) == .stands)
        }
        #expect(decide(mark: .present, policy: .beginning) == .start(at: 5))
        #expect(decide(mark: .present, policy: .end) == .start(at: 9))
    }

    @Test("Outcomes without a mark are no sign: the first commit of a worker that published them may have failed")
    func outcomes() {
        #expect(decide(hasOutcomes: true) == .start(at: 5))
    }

    @Test("Set to send without Redis, an installation without commits and outcomes starts without the mark")
    func withoutRedis() {
        #expect(decide(mark: .unknown, sendsWithoutRedis: true) == .start(at: 5))
        #expect(decide(mark: .unknown, groupHasCommits: true, sendsWithoutRedis: true) == .undecided)
        #expect(decide(mark: .unknown, hasOutcomes: true, sendsWithoutRedis: true) == .undecided)
    }

    @Test("Nothing is decided before the mark is known, unless nothing is there that could be sent again")
    func unknown() {
        #expect(decide(mark: .unknown) == .undecided)
        #expect(decide(mark: .unknown, policy: .end) == .undecided)
        #expect(decide(7..<7, mark: .unknown) == .start(at: 7))
        #expect(decide(7..<7, mark: .present) == .start(at: 7))
    }
}
