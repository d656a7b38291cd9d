import APNsProtocol
import Testing

@testable import PipelineCore

/// Reads of a lane that others decide by: the reason for a wait, the connection of a verdict, the next in line.
@Suite struct LaneReadTests {
    private let probe = LaneProbe()

    @Test("A wait for the budget can be told from a back-off")
    func budgetWait() {
        probe.publish()
        #expect(!probe.isWaitingForBudget)
        probe.lane.postpone(until: probe.now + .seconds(1))
        #expect(probe.isWaitingForBudget)
        #expect(probe.phase == .waiting(until: probe.now + .seconds(1)))
        probe.open()
        #expect(!probe.isWaitingForBudget)
        _ = probe.end()
        #expect(!probe.isWaitingForBudget && !probe.wantsConnection, "this wait is a back-off")
    }

    @Test("A wait for the budget goes on when the topic is admitted again: only a wait for the topic ends")
    func budgetWaitStays() {
        probe.publish()
        _ = probe.openAndSend()
        _ = probe.answer(.missingTopic, 0)
        let until = probe.now + .seconds(1)
        probe.lane.postpone(until: until)
        probe.lane.admit(.one)
        #expect(probe.phase == .waiting(until: until) && probe.isWaitingForBudget)
    }

    @Test("Every verdict names the connection it was learned on")
    func verdictsNameTheirConnection() {
        probe.publish(4)
        probe.open()
        let first = probe.now
        probe.send()
        probe.now = probe.now + LaneProbe.window
        #expect(probe.lane.presume(now: probe.now).connectionOpenedAt == first)
        #expect(probe.lane.presume(now: probe.now).connectionOpenedAt == first)
        probe.publish(4)
        probe.send()
        let answer = ErrorResponse(status: .invalidToken, identifier: probe.identifier(of: 5))
        #expect(probe.lane.answered(answer, now: probe.now, random: 0).connectionOpenedAt == first)
        probe.now = probe.now + .seconds(1)
        probe.open()
        let second = probe.now
        #expect(second > first && probe.lane.connectionOpenedAt == second)
        probe.send()
        probe.lane.retire()
        #expect(probe.takeSentinel() != nil)
        probe.now = probe.now + .seconds(5)
        #expect(probe.lane.end(.sentinelUnanswered, now: probe.now, random: 0).connectionOpenedAt == second)
        #expect(probe.lane.connectionOpenedAt == second, "also when it has ended")
        #expect(probe.lane.ended(.failed, now: probe.now, random: 0).connectionOpenedAt == second)
        probe.open()
        #expect(probe.lane.ended(.failed, now: probe.now, random: 0).connectionOpenedAt == probe.now)
    }
}
