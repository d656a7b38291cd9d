import BelfrySupport
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A shard's beginnings, its commits, and the times it may not send.
@Suite("A shard and its group")
struct ShardGroupTests {
    private typealias Bench = ShardBench

    // MARK: Beginning

    @Test(
        "A partition whose metadata is not understood stands until its offset is set",
        arguments: ["9;", "3;x", "2;a"]
    )
    func unknownMetadata(metadata: String) throws {
        let bench = Bench(committed: 5, metadata: metadata)
        defer { bench.shard.leave() }
        bench.assign(0)
        let alarm = "commit metadata is not understood; the partition stands until its offset is set"
        #expect(bench.lines.messages == [alarm])
        #expect(bench.group.paused == [bench.place(0)])
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.accepted.isEmpty && bench.group.commits.isEmpty && bench.group.seeks.isEmpty)
        #expect(bench.shard.report().partitions.map(\.isStanding) == [true])

        bench.group.metadata = "3;"
        bench.wait(milliseconds: 11_000)
        #expect(bench.group.seeks.map(\.offset) == [5] && bench.group.paused.isEmpty)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
        #expect(bench.committed()?.offset == 6)
    }

    @Test("An offset without metadata was set by hand: it starts there, with an alarm")
    func noMetadata() throws {
        let bench = Bench(committed: 5, metadata: "")
        defer { bench.shard.leave() }
        bench.assign(0)
        #expect(bench.lines.messages == ["committed offset has no metadata: set by hand; starting there"])
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[5]])
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }

    @Test("A topic that the commit names is fed again from its cursor, without what was done; others are live")
    func laggard() throws {
        var done = DoneRanges()
        done.append(.init(offset: 6, token: 0)..<DoneRanges.Position(offset: 6, token: 1))
        let committed = PositionMetadata.choose(
            [(Bench.hash(Bench.sport), 5)],
            liveNext: 20_000,
            limitBytes: 4096
        ) { _, _ in done }
        let bench = Bench(committed: committed.offset, metadata: committed.metadata)
        defer { bench.shard.leave() }
        for (offset, bundle) in [Bench.news, Bench.sport, Bench.sport, Bench.news, Bench.sport].enumerated() {
            try bench.keep(bundle, [UInt8(offset), 100 + UInt8(offset)], at: Int64(4 + offset))
        }
        bench.assign(0)
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[20_000]])
        try bench.bring((Bench.news, [50]), (Bench.sport, [51]))
        bench.wait(milliseconds: 2000)
        #expect(bench.reader.begins.map(\.offset) == [5])
        #expect(bench.gateway.accepted(of: Bench.news) == [50], "what has no name is done below the offset")
        let expected: [UInt8] = [1, 101, 102, 4, 104, 51]
        #expect(bench.gateway.accepted(of: Bench.sport) == expected, "in order, without what was done")
        #expect(bench.committed()?.offset == 20_002 && bench.committed()?.metadata == "3;")
    }

    @Test("With a cursor near by the live reader starts there, and skips what is done")
    func nearLaggard() throws {
        let committed = PositionMetadata.choose(
            [(Bench.hash(Bench.sport), 90)],
            liveNext: 100,
            limitBytes: 4096
        ) { _, _ in DoneRanges() }
        let bench = Bench(committed: 100, metadata: committed.metadata)
        defer { bench.shard.leave() }
        for (index, bundle) in [Bench.news, Bench.sport, Bench.news].enumerated() {
            try bench.keep(bundle, [UInt8(index)], at: Int64(90 + index))
        }
        bench.assign(0)
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[90]])
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        try bench.bring((Bench.news, [50]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [50] && bench.gateway.accepted(of: Bench.sport) == [1])
        #expect(bench.reader.begins.isEmpty)
        #expect(bench.committed()?.offset == 101 && bench.committed()?.metadata == "3;")
    }

    // MARK: Committing

    @Test("The last commit of a partition comes before it is given back, and none after", arguments: [true, false])
    func ownedOnly(lost: Bool) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0, 1)
        try bench.bring((Bench.news, [1]), to: 0)
        try bench.bring((Bench.news, [2]), to: 1)
        bench.wait(milliseconds: 1000)
        #expect(bench.committed(0)?.offset == 1 && bench.committed(1)?.offset == 1)
        try bench.bring((Bench.news, [3]), to: 0)
        try bench.bring((Bench.news, [4]), to: 1)
        bench.wait(milliseconds: 40)
        let before = bench.group.commits.count
        bench.shard.revoke([bench.place(0)], lost: lost)
        #expect(bench.group.revocations == (lost ? 1 : 0), "what was sent may settle")
        bench.wait(milliseconds: 5000)
        let commits = bench.group.commits[before...].flatMap(\.self)
        #expect(commits.filter { $0.partition == 0 }.map(\.offset) == (lost ? [] : [2]))
        #expect(commits.filter { $0.partition == 1 }.map(\.offset) == [2])
        #expect(bench.group.revocations == 1)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2, 3, 4])
    }

    @Test("A topic that does not settle keeps no partition from its next owner beyond the confirmation window")
    func halfDeadAtRevocation() throws {
        let bench = Bench { $0.worker.revokeDeadline = .seconds(60) }
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 40)
        bench.shard.revoke([bench.place(0)], lost: false)
        bench.wait(milliseconds: 1200)
        #expect(bench.group.revocations == 0, "the window is 300 ms, and 1 s is in reserve")
        bench.wait(milliseconds: 200)
        #expect(bench.group.revocations == 1)
        #expect(bench.committed()?.offset == 2, "what the other topic had settled is committed")
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 1])
    }

    @Test("The probe of a topic that does not work keeps no partition from its next owner at all")
    func probeAtRevocation() throws {
        let bench = Bench { $0.worker.revokeDeadline = .seconds(60) }
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.sport] = { _ in .missingTopic }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 1000)
        #expect(bench.reason(Bench.sport) == "topic-refused")
        bench.gateway.answers = [:]
        bench.gateway.halfDead = [Bench.sport]
        let lanes = try #require(bench.shard.stages.gateway.all.first { $0.topic.bundleID == Bench.sport })
        for _ in 0..<1000 where lanes.transport.inFlightCount == 0 { bench.wait(milliseconds: 20) }
        #expect(lanes.sending == .probing && lanes.transport.inFlightCount == 1)
        bench.shard.revoke([bench.place(0)], lost: false)
        bench.wait(milliseconds: 100)
        #expect(bench.group.revocations == 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 1], "it is sent again by the next owner")
    }

    @Test("Revocations that are carried out together are answered one by one", arguments: [true, false])
    func severalRevocations(lost: Bool) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0, 1)
        try bench.bring((Bench.sport, [1]), to: 0)
        bench.wait(milliseconds: 40)
        bench.shard.revoke([bench.place(0)], lost: false)
        bench.wait(milliseconds: 40)
        #expect(bench.group.revocations == 0, "what was sent may settle")
        bench.shard.revoke([bench.place(1)], lost: lost)
        bench.wait(milliseconds: 5000)
        #expect(bench.group.revocations == 2 && bench.shard.stages.group.assigned.isEmpty)
    }

    @Test("A revocation that comes while the shard drains is answered with the drain: the group waits for it")
    func revokedWhileDraining() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0)
        try bench.bring((Bench.sport, [1]))
        bench.wait(milliseconds: 40)
        let drained = bench.shard.drain()
        bench.shard.revoke([bench.place(0)], lost: false)
        #expect(bench.group.revocations == 0, "what was sent may settle")
        bench.wait(milliseconds: 5000)
        #expect(bench.group.revocations == 1)
        try drained.wait()
    }

    @Test(
        "A partition that is lost beside others that are being given back keeps none of them from its last commit",
        arguments: [true, false]
    )
    func lostBeside(isDraining: Bool) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0, 1)
        try bench.bring((Bench.news, [1]), to: 0)
        try bench.bring((Bench.news, [2]), to: 1)
        bench.wait(milliseconds: 40)
        let before = bench.group.commits.count
        let drained = isDraining ? bench.shard.drain() : nil
        if !isDraining { bench.shard.revoke([bench.place(1)], lost: false) }
        bench.shard.revoke([bench.place(0)], lost: true)
        #expect(bench.shard.stages.group.assigned.keys.sorted() == [1], "the lost one is over at once")
        #expect(bench.group.revocations == 0, "what was sent of the other may settle")
        bench.wait(milliseconds: 5000)
        #expect(bench.group.commits[before...].flatMap(\.self).map(\.partition) == [1])
        #expect(bench.committed(1)?.offset == 1)
        #expect(bench.group.revocations == (isDraining ? 1 : 2))
        #expect(bench.shard.stages.group.assigned.isEmpty)
        try drained?.wait()
    }

    @Test("A drain alone gives no answer that the group did not ask for")
    func drainedAlone() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        let drained = bench.shard.drain()
        bench.wait(milliseconds: 5000)
        try drained.wait()
        #expect(bench.group.revocations == 0)
    }

    @Test("Partitions that could not be assigned are not held, and the shard says that it cannot go on")
    func assignmentFails() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        var failures: [KafkaError] = []
        bench.shard.onFailure = { failures.append($0) }
        bench.group.assignError = KafkaError.closed("assign")
        bench.assign(0)
        #expect(failures.count == 1)
        #expect(bench.shard.stages.group.assigned.isEmpty && !bench.shard.stages.group.hasJoined)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted.isEmpty && bench.group.commits.isEmpty)

        bench.group.assignError = nil
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && bench.shard.stages.group.hasJoined)
    }

    @Test("A member that the group does not know gives its partitions back at once: it can commit nothing")
    func fencedAtRevocation() throws {
        let bench = Bench { $0.worker.revokeDeadline = .seconds(60) }
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 40)
        let before = bench.group.commits.count
        bench.group.commitError = Self.illegalGeneration
        bench.shard.revoke([bench.place(0)], lost: false)
        #expect(bench.group.revocations == 0)
        bench.wait(milliseconds: 600)
        #expect(bench.group.revocations == 1 && bench.group.commits.count == before + 1)
    }

    private static let illegalGeneration = KafkaError(
        code: 22,
        name: "ILLEGAL_GENERATION",
        message: "commit",
        isRetriable: false,
        isFatal: false
    )

    @Test("A partition comes back where its last commit says, and what it had then is not sent beside it")
    func comesBack() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 1000)
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.assign(0)
        bench.gateway.silent = []
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.gateway.timeout = .zero
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted.isEmpty, "the attempt of before is not answered yet")
        bench.wait(milliseconds: 3_600_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2])
    }

    // MARK: Sending

    @Test("While a commit is unanswered for worker.commit-patience nothing is sent, and with the answer it goes on")
    func unanswered() throws {
        let bench = Bench { $0.worker.commitPatience = .seconds(2) }
        defer { bench.shard.leave() }
        bench.group.answersCommits = false
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && bench.group.commits.count == 1)
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2], "within the patience it is sent")
        bench.wait(milliseconds: 2000)
        try bench.bring((Bench.news, [3]))
        bench.wait(milliseconds: 60_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2])
        #expect(bench.group.commits.count == 1)
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 1500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2, 3])
        #expect(bench.committed()?.offset == 3)
    }

    @Test("A member that the group does not know sends nothing until it is assigned anew")
    func fenced() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        bench.group.commitError = Self.illegalGeneration
        bench.wait(milliseconds: 2000)
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 60_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
        bench.group.commitError = nil
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1, 2], "what it could not commit is repeated")
        #expect(bench.committed()?.offset == 2)
    }
}
