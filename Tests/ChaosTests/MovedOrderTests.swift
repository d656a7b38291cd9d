import Foundation
import LocalPipeline
import PushSchemas
import Testing

@testable import belfry_chaos

@Suite("The order of records that workers moved")
struct MovedOrderTests {
    private static let history = CommitHistory(delaySeconds: 3, patienceSeconds: 3)

    /// Records to one device, in the order of their numbers, and the books that know them.
    private struct Scene {
        var books: ChaosBooks
        let device: UInt32
        let records: [RequestStream.Record]

        /// - Parameter lanes: of the records.
        init(_ lanes: [RequestLane], hasQuota: Bool = true) throws {
            let quotas = UrgentQuotas(hasQuota ? [0: 30] : [:])
            var books = ChaosBooks(stream: makeStream(usesLanes: true), partitions: 1, quotas: quotas)
            let made = (0..<2000).map { _ in books.nextRecord() }
            func records(to device: UInt32) -> [RequestStream.Record]? {
                var its = made.filter { books.token(number: $0.number, device: device, topic: 0) != nil }[...]
                var found: [RequestStream.Record] = []
                for lane in lanes {
                    guard let index = its.firstIndex(where: { $0.lane == lane }) else { return nil }
                    found.append(its[index])
                    its = its[(index + 1)...]
                }
                return found
            }
            let devices: Range<UInt32> = 0..<1000
            let device = try #require(devices.first { records(to: $0) != nil })
            self.records = try #require(records(to: device))
            self.device = device
            self.books = books
        }

        /// - Parameter record: place among ``records``.
        mutating func publish(_ record: Int, at offset: Int64) {
            let (number, lane) = (records[record].number, records[record].lane)
            books.noteRecord(number: number, partition: RequestPartition(lane, 0), offset: offset)
        }

        /// An urgent record was moved, and the copy to the device had this outcome.
        mutating func move(_ record: Int, from origin: Int64, to offset: Int64, _ kind: PushOutcomeKind = .confirmed) {
            let (place, from) = (
                RequestPlace(RequestPartition(.normal, 0), offset), RequestPlace(RequestPartition(.urgent, 0), origin)
            )
            let number = records[record].number
            books.noteCopy(number: number, at: place, from: from, MovedRecords.Times(created: 90, met: 90))
            let outcome = PushOutcome.with {
                $0.requestID = "\(number)"
                $0.sourceTopic = "push.requests"
                $0.sourceOffset = offset
                $0.tokenIndex = UInt32(books.token(number: number, device: device, topic: 0) ?? 0)
                $0.kind = kind
            }
            books.note(outcome, from: from, at: 100)
        }

        /// The device is sent the records in an order, given by their places among ``records`` and the times.
        ///
        /// - Parameter refused: when workers could not move a record.
        func audit(
            _ accepted: [(record: Int, second: UInt32)],
            ends: [OwnershipEnds.End] = [],
            refused: [UInt32] = []
        ) throws -> TruthAudit {
            var books = books
            let name = "accepted-\(UUID().uuidString)"
            let path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
            defer { try? FileManager.default.removeItem(atPath: path) }
            let acceptances = accepted.map { (device: device, number: records[$0.record].number, second: $0.second) }
            try writeAccepted(acceptances, topic: 0, of: books.stream.topics, to: path)
            return try TruthAudit(
                file: path,
                books: &books,
                commits: MovedOrderTests.history,
                ends: OwnershipEnds(ends),
                handovers: Handovers([], within: .init(delaySeconds: 3, patienceSeconds: 3)),
                refusals: 0,
                refusedMoves: RefusedMoves(refused)
            )
        }
    }

    /// An urgent record is older than one in normal, behind which its copy stands.
    private func movedBehind(_ kind: PushOutcomeKind = .confirmed) throws -> Scene {
        var scene = try Scene([.urgent, .normal])
        scene.publish(0, at: 0)
        scene.publish(1, at: 0)
        scene.move(0, from: 0, to: 1, kind)
        return scene
    }

    @Test("A moved record has its turn where its copy stands")
    func place() throws {
        let scene = try movedBehind()
        #expect(try scene.audit([(1, 100), (0, 101)]).orderViolations == 0)
        #expect(try scene.audit([(0, 100), (1, 101)]).orderViolations > 0)
    }

    @Test("The order of a moved record is not looked at where the record itself may have been accepted")
    func doubt() throws {
        // It was accepted twice, or by its outcome not as a copy.
        #expect(try movedBehind().audit([(0, 100), (1, 101), (0, 102)]).orderViolations == 0)
        #expect(try movedBehind(.rejected).audit([(0, 100), (1, 101)]).orderViolations == 0)
        // There are two copies.
        var scene = try movedBehind()
        scene.move(0, from: 0, to: 2)
        #expect(try scene.audit([(0, 100), (1, 101)]).orderViolations == 0)
    }

    @Test("Records that stay urgent keep their order beside others that are moved")
    func stays() throws {
        var scene = try Scene([.urgent, .urgent, .urgent])
        for record in 0...2 { scene.publish(record, at: Int64(record)) }
        #expect(try scene.audit([(0, 100), (2, 101), (1, 102)]).orderViolations > 0)
        scene.move(1, from: 1, to: 0)
        #expect(try scene.audit([(0, 100), (2, 101), (1, 102)]).orderViolations == 0)
        #expect(try scene.audit([(2, 100), (0, 101), (1, 102)]).orderViolations > 0)
    }

    @Test("Of an app with a quota the next owner may send what the former one was about to move, and all behind it")
    func lostMove() throws {
        func late(hasQuota: Bool = true, end: UInt32? = nil) throws -> TruthAudit {
            var scene = try Scene([.urgent, .urgent], hasQuota: hasQuota)
            for record in 0...1 { scene.publish(record, at: Int64(record)) }
            let ends = [end].compactMap { $0 }.map { OwnershipEnds.End(second: $0) }
            return try scene.audit([(1, 100), (0, 110), (1, 111)], ends: ends)
        }
        for found in [try late(), try late(end: 111), try late(hasQuota: false, end: 104)] {
            #expect(found.violations == ["late": 1] && found.excused == 0)
        }
        let excused = try late(end: 104)
        #expect(excused.orderViolations == 0 && excused.late == 0 && excused.excused == 1)
    }

    @Test("A copy that nothing allows is among the repetitions that are told")
    func excess() throws {
        var scene = try movedBehind()
        scene.move(0, from: 0, to: 2)
        let found = try scene.audit([(1, 100)])
        #expect(found.excess == 0 && found.unstoredMoves == 1 && found.examples.count == 1)
        #expect(found.unstored == 0 && found.unstoredExamples.isEmpty, "nothing that was presumed excuses it")
    }

    @Test("A record that cannot be moved may come behind newer ones that stayed, shortly after a worker says so")
    func refused() throws {
        func sent(at second: UInt32, refused: [UInt32] = [101], hasQuota: Bool = true) throws -> TruthAudit {
            var scene = try Scene([.urgent, .urgent, .urgent], hasQuota: hasQuota)
            for record in 0...2 { scene.publish(record, at: Int64(record)) }
            return try scene.audit([(1, 100), (0, second), (2, second)], refused: refused)
        }
        for second in [101, 107] as [UInt32] {
            let found = try sent(at: second)
            #expect(found.orderViolations == 0 && found.late == 0 && found.excused == 1, "\(second)")
        }
        let others = [
            try sent(at: 100), try sent(at: 108), try sent(at: 101, refused: []), try sent(at: 101, hasQuota: false),
        ]
        for found in others { #expect(found.violations == ["overtaken": 1, "cut-short": 1] && found.excused == 0) }
    }
}
