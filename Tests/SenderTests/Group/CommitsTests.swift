import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Commits without an answer, and the assignments and revocations after them.
@Suite("Commits that are not answered")
struct CommitsTests {
    private typealias Bench = ShardBench

    @Test("A commit of a former assignment keeps none of the next one waiting")
    func formerAssignment() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.group.answersCommits = false
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1500)
        #expect(bench.group.commits.count == 1)
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 1500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1], "it may send, so that it has to commit")
        #expect(bench.group.commits.count == 2)
    }

    @Test("The late answer to a former assignment's commit leaves its place unknown: the position is committed again")
    func lateAnswer() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.group.answersCommits = false
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1500)
        // A cooperative group lets the member keep its partition.
        bench.shard.assign([])
        bench.wait(milliseconds: 1500)
        #expect(bench.group.commits.count == 2 && bench.committed()?.offset == 1)
        bench.group.answerLastCommit()
        // The interval between commits has just begun anew then.
        bench.wait(milliseconds: 1540)
        #expect(bench.group.commits.count == 2, "it is stored, and nothing has changed")
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 100)
        #expect(bench.group.commits.count == 3 && bench.committed()?.offset == 1, "at once, not after the interval")
        bench.wait(milliseconds: 1500)
        #expect(bench.group.commits.count == 3, "it is stored, and known")
    }

    @Test("The answer to a former revocation's last commit does not end a later revocation")
    func formerRevocation() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0, 1)
        try bench.bring((Bench.news, [1]), to: 0)
        try bench.bring((Bench.news, [2]), to: 1)
        bench.wait(milliseconds: 1000)
        bench.group.answersCommits = false
        try bench.bring((Bench.news, [3]), to: 0)
        try bench.bring((Bench.news, [4]), to: 1)
        bench.wait(milliseconds: 40)
        bench.shard.revoke([bench.place(0)], lost: false)
        bench.wait(milliseconds: 1000)
        #expect(bench.committed(0)?.offset == 2 && bench.committed(1)?.offset == 1)
        bench.shard.revoke([bench.place(1)], lost: false)
        bench.wait(milliseconds: 100)
        #expect(bench.group.revocations == 0, "the first one's last commit is waited for")
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 100)
        #expect(bench.group.revocations == 2)
        #expect(bench.committed(1)?.offset == 2, "the second one's last commit follows it")
    }
}
