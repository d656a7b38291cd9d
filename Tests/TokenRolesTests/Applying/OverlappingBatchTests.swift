import NIOCore
import RedisClient
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

@Suite("An applier with two batches in flight")
struct OverlappingBatchTests {
    private static let master = RedisAddress(host: "master", port: 1)

    @Test("While Redis works on a batch the next one is sent, and a third one waits")
    func overlap() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch()
        bench.publishBatch("b")
        #expect(bench.calls == 2)
        bench.publishBatch("c")
        #expect(bench.calls == 2)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b", "c"])
        #expect(bench.committed == [0: 3])
    }

    @Test("A batch that is applied before an older one is committed after it")
    func commits() {
        let bench = benchWithOvertakenBatch()
        defer { bench.end() }
        #expect(bench.changed == ["b"] && bench.commits.isEmpty)
        bench.silent = []
        bench.pass(.seconds(5))
        #expect(bench.changed == ["b", "a"])
        #expect(bench.commits == [[0: 1], [0: 2]])
    }

    @Test("While a change is made again and again nothing is taken behind its batch")
    func failing() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.silent = ["a"]
        bench.member.give(0)
        bench.publishBatch("a")
        bench.pass(.seconds(1))
        bench.publishBatch("b")
        bench.pass(.minutes(1))
        #expect(bench.changed.isEmpty)
        bench.silent = []
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b"])
        #expect(bench.committed == [0: 2])
    }

    @Test("A record that is delivered again while it is in flight is applied once, and no position goes back")
    func deliveredAgain() throws {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.redis.isAway = true
        bench.member.give(0)
        bench.publishBatch("a", "b")
        try bench.member.deliverAgain(from: 0)
        bench.pass()
        #expect(bench.calls == 2, "nothing in it is new")
        try bench.member.deliverAgain(from: 1)
        bench.publishBatch("c")
        #expect(bench.calls == 3)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.changed == ["a", "b", "c"])
        #expect(bench.commits == [[0: 2], [0: 3]])
    }

    @Test("A change that takes another back is made after all before it, and before all behind it")
    func takenBack() {
        let bench = ApplierBench { $0 == "gone" ? .forgetInvalid(at: 9) : .tombstone(at: 7, .invalid) }
        defer { bench.end() }
        bench.silent = ["dead"]
        bench.member.give(0)
        bench.publishBatch("dead")
        bench.publishBatch("gone")
        bench.publishBatch("dead too")
        #expect(bench.calls == 1)
        bench.silent = []
        bench.pass(.seconds(5))
        #expect(bench.changed == ["dead", "gone", "dead too"])
        #expect(bench.committed == [0: 3])
    }

    // MARK: Giving back

    @Test("Partitions are given back when both batches have ended, and both are committed")
    func revocation() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch()
        bench.publishBatch("b")
        bench.member.takeBack(0)
        bench.pass(.milliseconds(1500))
        #expect(bench.member.revocations == 0)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.member.revocations == 1 && bench.changed == ["a", "b"])
        #expect(bench.committed == [0: 2])
    }

    @Test("At the end of the patience nothing behind an unfinished batch is committed, though it is applied")
    func patience() {
        let bench = benchWithOvertakenBatch()
        defer { bench.end() }
        bench.member.takeBack(0)
        bench.pass(.seconds(15))
        #expect(bench.member.revocations == 1)
        bench.silent = []
        bench.pass(.minutes(1))
        #expect(bench.changed == ["b"] && bench.commits.isEmpty, "its next owner applies both")
    }

    @Test("When a batch's partition is lost, the one behind it ends without it")
    func lost() {
        let bench = benchWithOvertakenBatch(to: 1)
        defer { bench.end() }
        bench.member.takeBack(0, lost: true)
        bench.pass(.seconds(3))
        #expect(bench.committed == [1: 1])
    }

    @Test("A stop lets both batches end, and commits them")
    func stop() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.holdBatch()
        bench.publishBatch("b")
        _ = bench.applier.stop()
        bench.publishBatch("c")
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.member.isClosed && bench.changed == ["a", "b"])
        #expect(bench.committed == [0: 2])
    }

    // MARK: Other positions

    @Test("Records are applied again when nothing is in flight: no batch moves a position on that has gone back")
    func again() {
        let bench = ApplierBench(histories: [Self.master: "old"])
        defer { bench.end() }
        bench.silent = ["a"]
        bench.member.give(0)
        bench.publishBatch("a")
        bench.masters?.histories[Self.master] = "new"
        bench.masters?.onMasters?()
        bench.publishBatch("b")
        #expect(bench.member.seeks.isEmpty && bench.calls == 1)
        bench.silent = []
        bench.pass(.seconds(5))
        #expect(bench.member.seeks.map(\.offset) == [0])
        #expect(bench.changed == ["a", "a", "b"])
        #expect(bench.committed == [0: 2])
    }

    @Test("Where retention has overtaken the position, what is in flight does not count as lost")
    func overtaken() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.silent = ["a"]
        bench.member.give(0)
        bench.publishBatch("a")
        bench.member.logs[0] = .init(low: 10, values: ["b"])
        bench.publishBatch("c")
        bench.pass(.milliseconds(500))
        #expect(bench.member.seeks.isEmpty)
        bench.silent = []
        bench.pass(.seconds(5))
        #expect(bench.applier.counters.recordsLost == 9)
        #expect(bench.changed == ["a", "b", "c"])
        #expect(bench.committed == [0: 12])
    }

    /// An applier that waits for "a", the first record of partition 0, and has applied "b" of the batch behind it.
    ///
    /// - Parameter partition: of "b".
    private func benchWithOvertakenBatch(to partition: Int32 = 0) -> ApplierBench {
        let bench = ApplierBench()
        bench.silent = ["a"]
        bench.member.give(0, 1)
        bench.publishBatch("a")
        bench.publishBatch("b", to: partition)
        return bench
    }
}

extension ApplierBench {
    /// Publishes records to partition 0, or another, which are taken as one batch if there is room for it.
    fileprivate func publishBatch(_ values: String..., to partition: Int32 = 0) {
        for value in values { member.logs[partition, default: .init()].values.append(value) }
        member.onReadable()
        pass()
    }
}

extension SimulatedMember {
    /// Delivers records of partition 0 once more.
    fileprivate func deliverAgain(from offset: Int64) throws(KafkaError) {
        try seekWithoutWaiting(to: [KafkaPartitionOffset(place(0), offset: offset)])
    }
}
