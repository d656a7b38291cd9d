import Testing

@testable import PipelineCore

/// A shard's permit to send, and the bytes that it may hold.
@Suite struct SendPermitTests {
    private var permit = SendPermit(patience: .seconds(10))

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("A shard may send while nothing speaks against it")
    mutating func open() {
        #expect(permit.isOpen(now: at(0)) && permit.isOpen(now: at(1_000_000)) && !permit.wantsCommit)
    }

    @Test("A commit that stays unanswered for as long as the patience shuts the permit; an answer opens it again")
    mutating func unanswered() {
        let number = permit.commitSent(now: at(5))
        #expect(permit.isOpen(now: MonotonicTime(nanoseconds: 14_999_999_999)))
        #expect(!permit.isOpen(now: at(15)))
        permit.commitAnswered(number, .known)
        #expect(permit.isOpen(now: at(15)))
    }

    @Test("The oldest commit without an answer counts, and an unknown answer is none")
    mutating func oldest() {
        let number = permit.commitSent(now: at(0))
        permit.commitAnswered(number, .unknown)
        _ = permit.commitSent(now: at(9))
        #expect(!permit.isOpen(now: at(10)))
    }

    @Test(
        "After an unknown answer a commit is wanted although nothing changes: its answer opens the permit"
    )
    mutating func unknownThenNothing() {
        let number = permit.commitSent(now: at(0))
        permit.commitAnswered(number, .unknown)
        #expect(permit.wantsCommit)
        let next = permit.commitSent(now: at(20))
        permit.commitAnswered(next, .known)
        #expect(!permit.wantsCommit && permit.isOpen(now: at(20)))
    }

    @Test("A member that the group does not know sends nothing until it is assigned anew")
    mutating func fenced() {
        let number = permit.commitSent(now: at(0))
        permit.commitAnswered(number, .fenced)
        #expect(!permit.isOpen(now: at(0)) && permit.wantsCommit)
        let late = permit.commitSent(now: at(1))
        permit.commitAnswered(late, .known)
        #expect(!permit.isOpen(now: at(1)))
        permit.assigned()
        #expect(permit.isOpen(now: at(1)))
    }

    @Test("A commit that is stored gives the permit back to a member that was refused, one that is not stored does not")
    mutating func storedAfterFenced() {
        let number = permit.commitSent(now: at(0))
        permit.commitAnswered(number, .fenced)
        let next = permit.commitSent(now: at(1))
        permit.commitAnswered(next, .stored)
        #expect(permit.isOpen(now: at(1)) && !permit.wantsCommit)
    }

    @Test("A late refusal of a commit from before an assignment says nothing about that assignment")
    mutating func lateRefusal() {
        let number = permit.commitSent(now: at(0))
        permit.assigned()
        permit.commitAnswered(number, .fenced)
        #expect(permit.isOpen(now: at(0)))
        let next = permit.commitSent(now: at(1))
        permit.commitAnswered(next, .fenced)
        #expect(!permit.isOpen(now: at(1)))
    }

    @Test("A loop that stood still for less than the patience keeps the permit", arguments: [(9, true), (10, false)])
    mutating func shortStandstill(seconds: Int, isOpen: Bool) {
        permit.loopStoodStill(for: .seconds(seconds))
        #expect(permit.isOpen(now: at(50)) == isOpen)
        #expect(permit.wantsCommit == !isOpen)
    }

    @Test("After a standstill only the answer to a commit sent since then counts")
    mutating func standstill() {
        let before = permit.commitSent(now: at(0))
        permit.loopStoodStill(for: .seconds(60))
        permit.commitAnswered(before, .known)
        #expect(!permit.isOpen(now: at(61)) && permit.wantsCommit)
        let since = permit.commitSent(now: at(61))
        #expect(!permit.isOpen(now: at(61)))
        permit.commitAnswered(since, .known)
        #expect(permit.isOpen(now: at(61)) && !permit.wantsCommit)
    }

    @Test("An assignment gives the permit, however long a commit is unanswered")
    mutating func assignment() {
        _ = permit.commitSent(now: at(0))
        #expect(!permit.isOpen(now: at(100)))
        permit.assigned()
        #expect(permit.isOpen(now: at(100)) && !permit.wantsCommit)
    }

    @Test("An assignment that may have waited as long as the loop stood still does not give the permit")
    mutating func assignmentAfterStandstill() {
        permit.loopStoodStill(for: .seconds(60))
        permit.assigned()
        #expect(!permit.isOpen(now: at(100)) && permit.wantsCommit)
        let number = permit.commitSent(now: at(100))
        permit.commitAnswered(number, .known)
        #expect(permit.isOpen(now: at(100)) && !permit.wantsCommit)
    }

    @Test("Without partitions no answer is waited for, but a fenced member stays fenced")
    mutating func lost() {
        let number = permit.commitSent(now: at(0))
        permit.lostAll()
        #expect(permit.isOpen(now: at(100)))
        permit.commitAnswered(number, .fenced)
        permit.lostAll()
        #expect(!permit.isOpen(now: at(100)))
    }
}

/// The shares of a shard's topics in its bytes.
@Suite struct MemoryBudgetTests {
    /// Lets hungry topics take bytes one by one until none is admitted any more.
    private func fill(_ budget: inout MemoryBudget, topics: Int) -> [Int] {
        var held = Array(repeating: 0, count: topics)
        while let index = held.indices.filter({ budget.admits(topicBytes: held[$0]) }).min(by: { held[$0] < held[$1] })
        {
            held[index] += 1
            budget.takeBytes(1)
        }
        return held
    }

    @Test("One hungry topic takes half, n take 1/(n + 1) each, and as much stays free", arguments: [1, 2, 3, 9, 99])
    func shares(topics: Int) {
        var budget = MemoryBudget(limitBytes: 10_000, topicLimitBytes: 10_000)
        let held = fill(&budget, topics: topics)
        let share = 10_000 / (topics + 1)
        #expect(held.allSatisfy { (share...share + 1).contains($0) })
        #expect((share - topics...share + 1).contains(10_000 - budget.usedBytes))
        #expect(budget.admits(topicBytes: 0), "a new topic finds room")
    }

    @Test("No topic takes more than its own limit")
    func topicLimit() {
        var budget = MemoryBudget(limitBytes: 10_000, topicLimitBytes: 100)
        #expect(fill(&budget, topics: 3) == [100, 100, 100])
    }

    @Test("What is given back is free again, and one that holds too much waits for its share to fall")
    func givenBack() {
        var budget = MemoryBudget(limitBytes: 100, topicLimitBytes: 100)
        #expect(fill(&budget, topics: 1) == [50])
        budget.takeBytes(20)
        #expect(!budget.admits(topicBytes: 49) && budget.admits(topicBytes: 29))
        budget.giveBack(30)
        #expect(budget.usedBytes == 40 && budget.admits(topicBytes: 40))
    }

    @Test("Topics that are only probed share a quarter, and one may take a record though the others have left no room")
    func probes() {
        var budget = MemoryBudget(limitBytes: 100, topicLimitBytes: 100)
        budget.takeBytes(100)
        #expect(!budget.admits(topicBytes: 0) && budget.admitsProbe)
        budget.probedBytes = 24
        #expect(budget.admitsProbe)
        budget.probedBytes = 25
        #expect(!budget.admitsProbe)
    }

    @Test("A record is admitted whole while there is any room; a budget that is overdrawn admits nothing")
    func whole() {
        var budget = MemoryBudget(limitBytes: 100, topicLimitBytes: 100)
        #expect(budget.admits(topicBytes: 0))
        budget.takeBytes(5000)
        #expect(!budget.admits(topicBytes: 0))
        budget.giveBack(5000)
        #expect(budget.admits(topicBytes: 99))
    }
}
