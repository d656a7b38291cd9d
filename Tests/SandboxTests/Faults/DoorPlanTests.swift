import TestSupport
import Testing

@testable import Sandbox

/// Faults that strike before the topic is known.
struct DoorPlanTests {
    private static let second: Int64 = 1_000_000_000

    @Test("Without a fault every connection is admitted")
    func admits() {
        var plan = DoorPlan()
        #expect(plan.judge(now: 0) == .admit)
        #expect(plan.strikes.isEmpty)
    }

    @Test("Each fault has its verdict, strikes with every connection, and ends after its times")
    func verdicts() {
        let table: [(Fault.Behaviour, DoorPlan.Verdict)] = [
            (.refuseConnects, .reset), (.refuseHandshakes, .refuseHandshake),
            (.refuseCertificates, .refuseCertificate),
        ]
        for (behaviour, verdict) in table {
            var plan = DoorPlan()
            plan.arm(Fault(behaviour, times: 2))
            let verdicts = (0..<3).map { _ in plan.judge(now: 0) }
            #expect(verdicts == [verdict, verdict, .admit])
            #expect(plan.strikes == [Fault(behaviour).name: 2])
            #expect(plan.listed.isEmpty)
        }
    }

    @Test("Clearing one leaves the others on")
    func clear() {
        var plan = DoorPlan()
        plan.arm(Fault(.refuseConnects))
        plan.arm(Fault(.refuseHandshakes))
        plan.clear(.refuseConnects)
        #expect(plan.judge(now: 0) == .refuseHandshake)
        plan.clear()
        #expect(plan.judge(now: 0) == .admit)
        #expect(plan.strikes == [.refuseConnects: 0, .refuseHandshakes: 1])
    }

    @Test("connect-rate-limit admits no more than so many in a minute; connections that it turns away do not count")
    func rateLimit() {
        var plan = DoorPlan()
        plan.arm(Fault(.connectRateLimit(perMinute: 2)))
        let seconds: [Int64] = [0, 10, 20, 59, 60, 61, 70, 71, 120]
        let verdicts = seconds.map { plan.judge(now: $0 * Self.second) }
        #expect(verdicts == [.admit, .admit, .reset, .reset, .admit, .reset, .admit, .reset, .admit])
        #expect(plan.strikes == [.connectRateLimit: 4])
        plan.clear(.connectRateLimit)
        #expect(plan.judge(now: 121 * Self.second) == .admit)
    }

    @Test("In no window of a minute are more admitted than the limit", arguments: 0..<10 as Range<UInt64>)
    func slidingWindow(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limit = ConnectRateLimit(perMinute: 7)
        var now: Int64 = 0
        var admitted: [Int64] = []
        for _ in 0..<2000 {
            now += .random(in: 0...20 * Self.second, using: &random)
            let inWindow = admitted.count { now - $0 < ConnectRateLimit.minuteNanoseconds }
            let isAdmitted = limit.admits(now: now)
            #expect(isAdmitted == (inWindow < 7))
            if isAdmitted { admitted.append(now) }
        }
    }
}
