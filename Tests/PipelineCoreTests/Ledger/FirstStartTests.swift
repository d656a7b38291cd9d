import PipelineCore
import RequestLanes
import Testing

@Suite("The start of a partition without a commit")
struct FirstStartTests {
    private func decide(
        _ log: Range<Int64> = 5..<9,
        lane: RequestLane = .normal,
        mark: FirstStart.Mark = .missing,
        groupHasCommits: Bool = false,
        hasOutcomes: Bool = false,
        sendsWithoutRedis: Bool = false,
        policy: FirstStartPolicy = .stand
    ) -> FirstStart.Decision {
        FirstStart.decide(
            lane: lane,
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

    @Test("A lane that is new in an old installation starts at its beginning, though others have outcomes")
    func newLane() {
        for lane in RequestLane.allCases {
            for policy in FirstStartPolicy.allCases {
                #expect(decide(0..<9, lane: lane, hasOutcomes: true, policy: policy) == .start(at: 0))
            }
        }
        for lane in [RequestLane.urgent, .bulk] {
            let start = decide(0..<9, lane: lane, mark: .unknown, hasOutcomes: true, sendsWithoutRedis: true)
            #expect(start == .start(at: 0))
        }
        // An earlier version's outcomes are the normal lane's.
        #expect(decide(0..<9, mark: .unknown, hasOutcomes: true, sendsWithoutRedis: true) == .undecided)
    }

    @Test("A lane that was read before is told by its mark, its group's commits, or a log of which records are deleted")
    func oldLane() {
        for lane in RequestLane.allCases {
            #expect(decide(0..<9, lane: lane, mark: .present) == .stands)
            let others = decide(0..<9, lane: lane, mark: .unknown, groupHasCommits: true, sendsWithoutRedis: true)
            #expect(others == .undecided)
            #expect(decide(lane: lane, mark: .unknown, hasOutcomes: true, sendsWithoutRedis: true) == .undecided)
            #expect(decide(0..<9, lane: lane, mark: .unknown) == .undecided)
        }
    }

    @Test("Nothing is decided before the mark is known, unless nothing is there that could be sent again")
    func unknown() {
        #expect(decide(mark: .unknown) == .undecided)
        #expect(decide(mark: .unknown, policy: .end) == .undecided)
        #expect(decide(7..<7, mark: .unknown) == .start(at: 7))
        #expect(decide(7..<7, mark: .present) == .start(at: 7))
    }
}
