import Foundation
import LocalPipeline
import PipelineCore
import PushSchemas
import Testing

@testable import belfry_chaos

/// Writes a log of acceptances.
func writeAccepted(
    _ acceptances: [(device: UInt32, number: UInt32, second: UInt32)],
    topic: Int,
    of topics: [String],
    to path: String
) throws {
    var file = Array("BELFRYAL".utf8) + [1, 0, 2, 0]
    for topic in topics { file += [UInt8(topic.utf8.count), 0] + Array(topic.utf8) }
    for acceptance in acceptances {
        for number in [acceptance.device, acceptance.number, acceptance.second] {
            file += withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
        file += [UInt8(topic), 0, 0, 0]
    }
    try Data(file).write(to: URL(fileURLWithPath: path))
}

@Suite("What was accepted, compared with books, commits and changes of hands")
struct TruthAuditTests {
    private static let history = CommitHistory(delaySeconds: 3, patienceSeconds: 3)

    /// The first record that is published stands at offset 0 of the only partition, and its first notification is
    /// accepted at some times, having had its outcome at 102.
    ///
    /// - Parameter seconds: the times, UNIX seconds.
    private func audit(
        at seconds: [UInt32],
        commits: CommitHistory = history,
        ends: [OwnershipEnds.End] = []
    ) throws -> TruthAudit {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        let record = books.nextRecord()
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 0)
        for token in 0..<record.count {
            let outcome = PushOutcome.with {
                $0.requestID = "1"
                $0.sourceTopic = "push.requests"
                $0.tokenIndex = UInt32(token)
                $0.kind = .presumed
            }
            books.note(outcome, at: 102)
        }
        let devices: Range<UInt32> = 0..<1000
        let device = try #require(
            devices.first { books.stream.index(of: $0, topic: record.topic, in: record) == 0 }
        )
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try writeAccepted(seconds.map { (device, 1, $0) }, topic: record.topic, of: books.stream.topics, to: path)
        return try TruthAudit(
            file: path,
            books: &books,
            commits: commits,
            ends: OwnershipEnds(ends),
            handovers: Handovers([], within: .init(delaySeconds: 3, patienceSeconds: 3)),
            refusals: 0
        )
    }

    /// Two notifications to one device are accepted at 100, and again by the next owner, which has not come to the
    /// second when a third one of the former owner comes.
    ///
    /// - Parameter handovers: of two partitions; the notifications are in the second.
    private func auditMixed(_ handovers: Handovers, at second: UInt32 = 120) throws -> TruthAudit {
        var books = ChaosBooks(stream: makeStream(), partitions: 2)
        let records = (0..<200).map { _ in books.nextRecord() }
        let candidates = (0..<1000 as Range<UInt32>).lazy.map { device in
            (device, records.filter { books.token(number: $0.number, device: device, topic: 0) != nil })
        }
        let (device, found) = try #require(candidates.first { $0.1.count >= 3 })
        for (offset, record) in found.enumerated() {
            books.noteRecord(number: record.number, partition: .init(.normal, 1), offset: Int64(offset))
        }
        let numbers = found.prefix(3).map(\.number)
        let accepted = [(0, 100), (1, 100), (0, second), (2, second), (1, second), (2, second)]
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try writeAccepted(
            accepted.map { (device, numbers[$0.0], $0.1) },
            topic: 0,
            of: books.stream.topics,
            to: path
        )
        return try TruthAudit(
            file: path,
            books: &books,
            commits: Self.history,
            ends: OwnershipEnds([]),
            handovers: handovers,
            refusals: 0
        )
    }

    @Test("A row between another one's is a violation unless both owners' logs prove that the broker let them send")
    func handedOver() throws {
        func handovers(of partition: Int32, isCutOff: Bool = true) -> Handovers {
            let former = ShardTenure(
                shard: "0",
                partition: partition,
                start: 90_000,
                end: 118_400,
                isCutOff: isCutOff
            )
            let next = ShardTenure(shard: "0", partition: partition, start: 118_500)
            let workers = [("a", former), ("b", next)].map { Handovers.Worker(name: $0.0, tenures: [$0.1]) }
            return Handovers(workers, within: .init(delaySeconds: 3, patienceSeconds: 3))
        }
        let proven = try auditMixed(handovers(of: 1))
        #expect(proven.orderViolations == 0 && proven.handedOver == 1 && proven.late == 0)
        let unproven = [
            try auditMixed(handovers(of: 0)), try auditMixed(handovers(of: 1, isCutOff: false)),
            try auditMixed(handovers(of: 1), at: 122), try auditMixed(handovers(of: 1), at: 117),
        ]
        for found in unproven { #expect(found.violations == ["late": 1] && found.handedOver == 0) }
    }

    /// A device gets a record of a lane before an older one of the normal lane.
    private func auditOvertaken(in lane: RequestLane) throws -> TruthAudit {
        var books = ChaosBooks(stream: makeStream(usesLanes: true), partitions: 1)
        let records = (0..<400).map { _ in books.nextRecord() }
        func pair(of device: UInt32) -> (older: RequestStream.Record, newer: RequestStream.Record)? {
            let its = records.filter { books.token(number: $0.number, device: device, topic: 0) != nil }
            guard let older = its.first(where: { $0.lane == .normal }),
                let newer = its.first(where: { $0.lane == lane && $0.number > older.number })
            else { return nil }
            return (older, newer)
        }
        let device = try #require((0..<1000 as Range<UInt32>).first { pair(of: $0) != nil })
        let (older, newer) = try #require(pair(of: device))
        for (offset, record) in [older, newer].enumerated() {
            books.noteRecord(number: record.number, partition: .init(record.lane, 0), offset: Int64(offset))
        }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let accepted = [(device, newer.number, UInt32(100)), (device, older.number, 101)]
        try writeAccepted(accepted, topic: 0, of: books.stream.topics, to: path)
        return try TruthAudit(
            file: path,
            books: &books,
            commits: Self.history,
            ends: OwnershipEnds([]),
            handovers: Handovers([], within: .init(delaySeconds: 3, patienceSeconds: 3)),
            refusals: 0
        )
    }

    @Test("Order is kept within a lane, and none between two of them")
    func lanes() throws {
        #expect(try auditOvertaken(in: .urgent).orderViolations == 0)
        #expect(try auditOvertaken(in: .bulk).orderViolations == 0)
        #expect(try auditOvertaken(in: .normal).orderViolations > 0)
    }

    @Test("One acceptance is no repetition; the second is a duplicate, and not in excess without an outcome before")
    func plain() throws {
        let once = try audit(at: [100])
        #expect(once.accepted == 1 && once.duplicates == 0 && once.excess == 0 && once.unstored == 0)
        let twice = try audit(at: [100, 104])
        #expect(twice.duplicates == 1 && twice.excess == 0 && twice.unstored == 0 && twice.examples.isEmpty)
    }

    @Test("A repetition of what had its outcome is in excess unless its partition changed hands just then")
    func unstored() throws {
        let found = try audit(at: [100, 120])
        #expect(found.excess == 0 && found.unstored == 1 && found.unstoredExamples.count == 1)
        #expect(found.examples.isEmpty, "it may be excused by what was presumed wrongly")
        #expect(try audit(at: [100, 120], ends: [.init(second: 104)]).unstored == 0)
        #expect(try audit(at: [100, 120], ends: [.init(second: 115)]).unstored == 1)
    }

    @Test("A repetition of what was stored as done is in excess, whichever worker ended, and counts once")
    func stored() throws {
        var commits = Self.history
        let stored = PositionMetadata.choose([], liveNext: 1, limitBytes: 4096) { _, _ in DoneRanges() }
        commits.note(partition: .init(.normal, 0), offset: stored.offset, metadata: stored.metadata, second: 105)
        let found = try audit(at: [100, 108, 109, 120], commits: commits, ends: [.init(second: 104)])
        #expect(found.excess == 2 && found.unstored == 0)
        #expect(found.examples.count == 2 && found.examples.allSatisfy { $0.contains("stored as done") })
    }

    @Test("Every acceptance deep in an outage of the broker is in excess, a first one too")
    func unpermitted() throws {
        var commits = Self.history
        commits.note(.init(start: 200, end: 208))
        #expect(try audit(at: [206], commits: commits).excess == 0)
        #expect(try audit(at: [207], commits: commits).excess == 1)
    }
}
