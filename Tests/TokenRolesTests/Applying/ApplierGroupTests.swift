import NIOCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import RedisClient
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

@Suite("What an applier does for its group")
struct ApplierGroupTests {
    @Test("An assignment of nothing is answered: the group waits for it")
    func nothing() {
        let bench = ApplierBench()
        defer { bench.end() }
        #expect(!bench.applier.isInGroup)
        bench.member.give()
        bench.pass()
        #expect(bench.answers == [[:]])
        #expect(bench.applier.isInGroup)
    }

    @Test("Partitions start where the group has committed, or at their beginning")
    func starts() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 7]
        bench.member.give(0, 1)
        bench.pass()
        #expect(bench.answers == [[0: 7, 1: KafkaOffset.beginning]])
    }

    @Test("A second assignment before the first is answered drops nothing of the first")
    func second() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 7, 1: 8]
        bench.member.isAway = true
        bench.member.give(0)
        bench.pass()
        bench.member.give(1)
        bench.pass()
        #expect(bench.answers.isEmpty)
        bench.member.isAway = false
        bench.pass(.seconds(1))
        #expect(bench.answers == [[0: 7, 1: 8]])
    }

    @Test("A member whose partitions were taken back answers the empty assignment after that, and takes over later")
    func takeOver() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.member.publish("a")
        bench.member.give(0)
        bench.pass()
        bench.member.takeBack(0)
        bench.pass()
        bench.member.give()
        bench.pass()
        #expect(bench.member.revocations == 1)
        #expect(bench.answers == [[0: KafkaOffset.beginning], [:]])
        bench.member.publish("b")
        bench.member.give(0)
        bench.pass()
        #expect(bench.changed == ["a", "b"])
        #expect(bench.committed == [0: 2])
    }

    @Test("While Redis is away for minutes the group is served, and nothing is read beyond what is in hand")
    func servedWhileAway() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch()
        bench.member.publish("b")
        bench.pass(.minutes(10))
        #expect(bench.member.longestSilence <= .seconds(2))
        #expect(bench.paused == [0])
        #expect(bench.commits.isEmpty)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b"])
        #expect(bench.paused.isEmpty)
        #expect(bench.committed == [0: 2])
    }

    @Test("Partitions that come while Redis is away wait, paused, and are applied afterwards")
    func assignedWhileAway() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(30))
        bench.member.publish("b", to: 1)
        bench.member.give(1)
        bench.pass(.seconds(30))
        #expect(bench.answers.count == 2)
        #expect(bench.paused == [0, 1])
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b"])
        #expect(bench.committed == [0: 1, 1: 1])
    }

    @Test("Records fetched before a pause are applied when their turn comes")
    func fetchedBeforePause() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(5))
        bench.member.publish("b")
        bench.member.fetchedBeforePause = 0
        bench.pass(.seconds(30))
        bench.member.publish("c")
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b", "c"])
        #expect(bench.committed == [0: 3])
    }

    @Test("Records fetched before their partition was given back are not applied when it has come again")
    func fetchedBeforeRevocation() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(5))
        bench.member.publish("b")
        bench.member.fetchedBeforePause = 0
        bench.pass(.seconds(30))
        bench.member.takeBack(0, lost: true)
        bench.member.give(0)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b"], "once, from the new beginning")
        #expect(bench.committed == [0: 2])
    }

    @Test("Partitions are given back when their batch has ended and is committed")
    func revocation() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(3))
        bench.member.takeBack(0)
        bench.pass(.seconds(3))
        #expect(bench.member.revocations == 0)
        bench.redis.isAway = false
        bench.pass(.seconds(3))
        #expect(bench.member.revocations == 1)
        #expect(bench.committed == [0: 1])
    }

    @Test("A batch that does not end holds a revocation no longer than the patience, and is given up for good")
    func patience() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(3))
        bench.member.takeBack(0)
        bench.pass(.seconds(9))
        #expect(bench.member.revocations == 0)
        bench.pass(.seconds(2))
        #expect(bench.member.revocations == 1)
        #expect(bench.commits.isEmpty)
        bench.redis.isAway = false
        let calls = bench.calls
        bench.pass(.minutes(1))
        #expect(bench.calls == calls, "its next owner applies it")
        #expect(bench.lines.messages.contains { $0.hasPrefix("partitions are given back with batches in hand") })
    }

    @Test("Lost partitions go at once, and nothing of them is committed")
    func lost() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch(for: .seconds(3))
        bench.member.takeBack(0, lost: true)
        bench.pass(.seconds(1))
        bench.redis.isAway = false
        bench.pass(.seconds(10))
        #expect(bench.member.revocations == 1)
        #expect(bench.commits.isEmpty)
    }

    @Test("A commit that the broker refused is made again")
    func refusedCommit() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.member.commitError = .timedOut
        bench.member.publish("a")
        bench.member.give(0)
        bench.pass(.seconds(3))
        #expect(bench.committed.isEmpty)
        bench.member.commitError = nil
        bench.pass(.seconds(1))
        #expect(bench.committed == [0: 1])
    }

    @Test("A stop waits for the batch in hand no longer than the patience; the next owner applies it again")
    func stop() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.member.publish("a")
        bench.member.give(0)
        bench.pass()
        bench.redis.isAway = true
        bench.member.publish("b")
        bench.pass()
        _ = bench.applier.stop()
        bench.pass(.seconds(9))
        #expect(!bench.member.isClosed)
        bench.pass(.seconds(2))
        #expect(bench.member.isClosed && bench.redis.isClosed)
        #expect(bench.committed == [0: 1])
    }

    @Test("Partitions that could not be assigned are not held, and the member has no place until the next assignment")
    func assignmentFails() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.member.assignError = .timedOut
        bench.member.publish("a")
        bench.member.give(0)
        bench.pass(.seconds(1))
        #expect(bench.applier.partitions.isEmpty && !bench.applier.isInGroup)
        bench.member.assignError = nil
        bench.member.give(0)
        bench.pass(.seconds(1))
        #expect(bench.applier.isInGroup && bench.changed == ["a"])
        #expect(bench.committed == [0: 1])
    }

    // MARK: The log

    @Test("Where retention has overtaken the position, what is lost is counted, and the rest is applied")
    func overtaken() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 3]
        bench.member.logs[0] = .init(low: 10, values: ["a"])
        bench.member.give(0)
        bench.pass(.seconds(1))
        #expect(bench.changed == ["a"])
        #expect(bench.applier.counters.recordsLost == 7)
        #expect(bench.applier.counters.offsetsBeyondEnd == 0)
        #expect(bench.committed == [0: 11])
        let alarm = "retention has overtaken the lag: records were deleted before they were read"
        let told = bench.lines.metadata(of: alarm)
        #expect(told.map { $0["offset"] } == ["3"] && told.map { $0["last"] } == ["9"])
    }

    @Test("Where the log ends before the position, what is left is applied from its beginning, and it is counted")
    func beyondEnd() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 300]
        bench.member.logs[0] = .init(low: 0, values: ["a", "b"])
        bench.member.give(0)
        bench.pass(.seconds(1))
        #expect(bench.changed == ["a", "b"])
        #expect(bench.applier.counters.offsetsBeyondEnd == 1)
        #expect(bench.applier.counters.recordsLost == 0)
        #expect(bench.committed == [0: 2])
        #expect(bench.lines.messages.contains { $0.hasPrefix("partition ends before its committed offset") })
    }

    @Test(
        "A log that was cut before the position and has grown beyond it since is applied from its beginning, and counted"
    )
    func cut() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 3]
        bench.member.logs[0] = .init(low: 0, values: ["a", "b", "c"])
        bench.member.give(0)
        bench.pass()
        bench.member.isAway = true
        bench.member.logs[0] = .init(low: 0, values: ["d"])
        bench.pass(.seconds(3))
        bench.member.publish("e", "f", "g")
        bench.member.isAway = false
        bench.pass(.seconds(2))
        #expect(bench.changed == ["d", "e", "f", "g"])
        #expect(bench.applier.counters.offsetsBeyondEnd == 1)
        #expect(bench.lines.messages.contains { $0.hasPrefix("partition was cut before its committed offset") })
    }

    @Test("A partition that stands still holds up no other, and goes on when the broker answers")
    func standing() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.committed = [0: 0, 1: 0]
        bench.member.give(0, 1)
        bench.pass()
        bench.member.isAway = true
        bench.member.logs[0] = .init(low: 20, values: ["a"])
        bench.member.publish("b", to: 1)
        bench.pass(.seconds(3))
        #expect(bench.changed == ["b"])
        bench.member.isAway = false
        bench.pass(.seconds(1))
        #expect(bench.changed == ["b", "a"])
        #expect(bench.applier.counters.recordsLost == 20)
    }

    @Test("Fetches that cannot be read are counted, and told of a few times; then it goes on")
    func corrupt() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.member.corruptFetches = 30
        bench.member.publish("a")
        bench.member.give(0)
        bench.pass(.milliseconds(400))
        #expect(bench.applier.counters.corruptFetches == 30 && bench.changed == ["a"])
        #expect(bench.lines.messages.count { $0.hasPrefix("fetched records are corrupt") } == 10)
        #expect(bench.committed == [0: 1])
    }

    // MARK: Refusals

    @Test(
        "A record that Redis refuses for good is a dead letter with its words, and its partition goes on",
        arguments: [
            RedisError.server(prefix: "BELFRY", message: "a token record with flags 255 is not known here"),
            .server(prefix: "WRONGTYPE", message: "Operation against a key holding the wrong kind of value"),
        ]
    )
    func refused(error: RedisError) {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.errors["b"] = error
        bench.member.publish("a", "b", "c")
        bench.member.give(0)
        bench.pass(.seconds(1))
        #expect(bench.changed == ["a", "c"])
        #expect(bench.letters == [.init(value: "b", reason: "token-state-refused", detail: "\(error)")])
        #expect(bench.applier.counters == .init(applied: 2, deadLetters: 1, refused: ["token-state-refused": 1]))
        #expect(bench.committed == [0: 3])
    }

    @Test(
        "A change that Redis refuses for now is tried again until it is taken",
        arguments: ["LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "OOM", "MOVED", "NOPERM"]
    )
    func refusedForNow(prefix: String) {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.errors["b"] = .server(prefix: prefix, message: "")
        bench.member.publish("a", "b", "c")
        bench.member.give(0)
        bench.pass(.minutes(1))
        #expect(bench.commits.isEmpty && bench.letters.isEmpty)
        #expect(bench.lines.messages.contains("token state could not be changed; trying again"))
        bench.errors = [:]
        bench.pass(.seconds(2))
        #expect(bench.changed == ["a", "c", "b"])
        #expect(bench.letters.isEmpty)
        #expect(bench.committed == [0: 3])
    }

    @Test("A change that takes another back is made after it, though that was refused for the moment")
    func takenBack() {
        let bench = ApplierBench { $0 == "gone" ? .forgetInvalid(at: 9) : .tombstone(at: 7, .invalid) }
        defer { bench.end() }
        bench.errors["dead"] = .server(prefix: "TRYAGAIN", message: "")
        bench.member.publish("dead", "gone")
        bench.member.give(0)
        bench.pass(.seconds(30))
        #expect(bench.changed.isEmpty && bench.commits.isEmpty)
        bench.errors = [:]
        bench.pass(.seconds(2))
        #expect(bench.changed == ["dead", "gone"])
        #expect(bench.redis.answered.map(\.script) == [TokenScripts.tombstone, TokenScripts.forgetInvalid])
        #expect(bench.committed == [0: 2])
    }
}
