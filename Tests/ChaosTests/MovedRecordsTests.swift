import LocalPipeline
import PipelineCore
import Testing

@testable import belfry_chaos

@Suite("Records that workers moved, in the books of a chaos run")
struct MovedRecordsTests {
    private typealias Scene = MoveScene

    @Test("Outcomes of a copy settle the published record in its lane, in any order of reading")
    func balance() throws {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var scene = try Scene()
            for step in order {
                switch step {
                case 0: scene.publish()
                case 1: scene.move()
                default: scene.settle()
                }
            }
            scene.accept()
            let (books, count) = (scene.books, scene.record.count)
            #expect(books.published == count && books.outcomes == count && books.publishedByLane == [.urgent: count])
            #expect(books.isSettled && books.lost == 0 && books.moves.count == 1 && books.recordsInLog == 1)
            #expect(RequestLane.allCases.allSatisfy { books.lost(in: $0) == 0 })
            #expect(books.kinds == [.confirmed: count] && books.repeated == 0 && books.strange == 0)
            #expect(books.replays == 0 && books.disordered == 0 && books.examplesOfMissing(limit: 1) == [])
            #expect(ChaosReport.moveComplaints(books) == [])
        }
    }

    @Test("A copy without an outcome is lost, in the lane into which its record was published")
    func lost() throws {
        var scene = try Scene()
        scene.publish()
        scene.move()
        let count = scene.record.count
        #expect(scene.books.lost == count && !scene.books.isSettled)
        scene.settle(tokens: 1)
        #expect(scene.books.missing == count - 1 && scene.books.lost(in: .normal) == 0)
        scene.accept()
        #expect(scene.books.lost(in: .urgent) == count - 1 && scene.books.lost == count - 1)
        #expect(scene.books.examplesOfMissing(limit: 9).count == 2, "of the record and of the copy")
    }

    @Test("Each copy of a record is due its outcomes, and the record counts once")
    func copies() throws {
        var scene = try Scene()
        scene.publish()
        scene.move()
        scene.move(to: Scene.secondCopy)
        scene.settle()
        scene.accept()
        let count = scene.record.count
        #expect(scene.books.missing == 0 && scene.books.outcomes == count && scene.books.moves.count == 1)
        #expect(!scene.books.isSettled && scene.books.openCopies == count)
        #expect(scene.books.lost == count && scene.books.lost(in: .urgent) == count)
        #expect(ChaosReport.moveComplaints(scene.books).count == 1)
        scene.settle(Scene.secondCopy)
        #expect(scene.books.isSettled && scene.books.lost == 0 && scene.books.repeated == count)
        #expect(ChaosReport.moveComplaints(scene.books) == [])
    }

    @Test("A copy that comes when all had its outcomes and workers stop is due none")
    func closed() throws {
        var scene = try Scene()
        scene.publish()
        scene.move()
        scene.settle()
        scene.accept()
        scene.books.close()
        scene.move(to: Scene.secondCopy)
        #expect(scene.books.isSettled && scene.books.lost == 0 && scene.books.examplesOfMissing(limit: 1) == [])
        scene.settle(Scene.secondCopy, tokens: 1)
        #expect(scene.books.isSettled && scene.books.strange == 0)
    }

    @Test("A copy of an app without a quota is a complaint")
    func withoutQuota() throws {
        var scene = try Scene(topic: 0)
        scene.publish()
        scene.move()
        scene.settle()
        scene.accept()
        #expect(scene.books.lost == 0 && scene.books.strange == 0 && scene.books.movedWithoutQuota == 1)
        #expect(ChaosReport.moveComplaints(scene.books).count == 1)
    }

    @Test("A copy that names a place where nothing was published is a complaint, and leaves its record open")
    func fromNowhere() throws {
        var scene = try Scene()
        scene.publish()
        let nowhere = RequestPlace(Scene.origin.partition, 5)
        scene.move(from: nowhere)
        scene.settle(from: nowhere)
        #expect(scene.books.movedFromNowhere == 1 && ChaosReport.moveComplaints(scene.books).count == 1)
        #expect(scene.books.examplesOfMissing(limit: 9).count == 1)
    }

    @Test("A copy that stands in another partition than its record was published in is a complaint")
    func elsewhere() throws {
        var scene = try Scene()
        scene.publish()
        scene.move(to: RequestPlace(RequestPartition(.normal, 0), 7))
        #expect(scene.books.movedElsewhere == 1 && ChaosReport.moveComplaints(scene.books).count == 1)
    }

    @Test("A copy or an outcome that names another record's place, or stands in another lane, is strange")
    func strange() throws {
        var scene = try Scene()
        scene.publish()
        let other = try #require(scene.others(.urgent).first)
        let place = RequestPlace(RequestPartition(.urgent, 1), 4)
        scene.books.noteRecord(number: other.number, partition: place.partition, offset: place.offset)
        scene.move(from: place)
        #expect(scene.books.strange == 1)
        for lane in [RequestLane.urgent, .bulk] { scene.move(to: RequestPlace(RequestPartition(lane, 0), 1)) }
        #expect(scene.books.strange == 3)
        scene.settle(from: nil, tokens: 1)
        #expect(scene.books.strange == 4, "the outcome of a copy has to say whose")
        scene.move()
        scene.settle(from: place, tokens: 1)
        #expect(scene.books.strange == 5)
        let normal = try #require(scene.others(.normal).first)
        let times = MovedRecords.Times(created: 100, met: 100)
        scene.books.noteCopy(number: normal.number, at: Scene.secondCopy, from: place, times)
        scene.books.noteCopy(number: 0, at: Scene.secondCopy, from: place, times)
        scene.books.noteCopy(number: other.number, at: Scene.copy, from: place, times)
        #expect(scene.books.strange == 8 && scene.books.moves.count == 1 && scene.books.outcomes == 0)
    }

    @Test("A record was sent from its only copy; from which place is not known if there are two, or if it had outcomes")
    func sendingPlace() throws {
        var scene = try Scene()
        scene.publish()
        let (stream, record) = (scene.books.stream, scene.record)
        let devices: Range<UInt32> = 0..<1000
        let device = try #require(devices.first { stream.index(of: $0, topic: record.topic, in: record) == 1 })
        func place(in books: ChaosBooks) -> RequestPlace? {
            books.place(number: record.number, device: device, topic: record.topic)
                .map { RequestPlace($0.partition, $0.position.offset) }
        }
        func senders(in books: ChaosBooks) -> [RequestPartition: Bool] {
            Dictionary(books.log.map { ($0.partition, $0.isSender) }) { $0 || $1 }
        }
        #expect(place(in: scene.books) == Scene.origin && senders(in: scene.books) == [Scene.origin.partition: true])
        scene.move()
        #expect(place(in: scene.books) == Scene.copy && scene.books.sendingLane(of: record.number) == .normal)
        let sent = [Scene.origin.partition: false, Scene.copy.partition: true]
        #expect(senders(in: scene.books) == sent && scene.books.log.map(\.copy) == [0, 1])
        #expect(scene.books.log.map(\.origin) == [nil, Scene.origin.partition])
        var sentBefore = scene
        sentBefore.settle(Scene.origin, from: nil, tokens: 1)
        scene.move(to: Scene.secondCopy)
        #expect(scene.books.log.map(\.copy) == [0, 1, 2])
        for books in [scene.books, sentBefore.books] {
            #expect(place(in: books) == nil && !senders(in: books).values.contains(true))
        }
    }

    @Test("A run is at fault in which nothing was moved though many records do not fit into their quota")
    func nothingMoved() throws {
        var scene = try Scene()
        let origin = RequestPlace(Scene.origin.partition, 0)
        scene.publish(at: origin)
        var large = scene.record.count > Scene.quota ? 1 : 0
        var offset: Int64 = 1
        for record in scene.others(.urgent) where large < ChaosReport.provingRecords {
            #expect(scene.books.beyondQuota == large && ChaosReport.moveComplaints(scene.books) == [])
            scene.books.noteRecord(number: record.number, partition: origin.partition, offset: offset)
            if record.topic == 1, record.count > Scene.quota { large += 1 }
            offset += 1
        }
        #expect(scene.books.beyondQuota == ChaosReport.provingRecords)
        #expect(ChaosReport.moveComplaints(scene.books).count == 1)
        #expect(ChaosReport.moveComplaints(scene.books, RefusedMoves([100])).count == 1)
        scene.move(from: origin)
        scene.settle(from: origin)
        #expect(ChaosReport.moveComplaints(scene.books) == [])
    }

    @Test("So is one in which most of the records that do not fit stayed, unless workers could not move some")
    func mostStayed() throws {
        var scene = try Scene()
        let large = scene.others(.urgent).filter { $0.topic == 1 && $0.count > Scene.quota }
        try #require(large.count >= 2 * ChaosReport.provingRecords)
        for (offset, record) in large.enumerated() {
            scene.books.noteRecord(number: record.number, partition: Scene.origin.partition, offset: Int64(offset))
        }
        #expect(scene.books.beyondQuota == large.count)
        for (index, record) in large.enumerated() {
            let origin = RequestPlace(Scene.origin.partition, Int64(index))
            let place = RequestPlace(Scene.copy.partition, Int64(index))
            let times = MovedRecords.Times(created: 100, met: 100)
            scene.books.noteCopy(number: record.number, at: place, from: origin, times)
            let stayed = large.count - index - 1
            #expect(scene.books.stayedBeyondQuota == stayed)
            #expect(ChaosReport.moveComplaints(scene.books).count == (stayed > large.count / 2 ? 1 : 0), "\(stayed)")
            #expect(ChaosReport.moveComplaints(scene.books, RefusedMoves([100])) == [])
        }
    }
}
