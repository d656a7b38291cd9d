import LocalPipeline
import PushSchemas
import Testing

@testable import belfry_chaos

/// Books of a run in which the second of two topics has a quota, and an urgent record of one of them.
struct MoveScene {
    /// The usual places of the record, and of a copy of it.
    static let origin = RequestPlace(RequestPartition(.urgent, 1), 3)
    static let copy = RequestPlace(RequestPartition(.normal, 1), 7)
    static let secondCopy = RequestPlace(RequestPartition(.normal, 1), 8)
    static let quota = 30
    private static let records: ClosedRange<UInt32> = 1...2000

    var books: ChaosBooks
    let record: RequestStream.Record

    /// - Parameter topic: of the record; 0: one without a quota.
    init(topic: Int = 1) throws {
        let stream = makeStream(usesLanes: true)
        var books = ChaosBooks(stream: stream, partitions: 2, quotas: UrgentQuotas([1: Self.quota]))
        for _ in Self.records { _ = books.nextRecord() }
        self.books = books
        record = try #require(
            Self.records.map { stream.record($0) }.first { $0.topic == topic && $0.lane == .urgent && $0.count > 1 }
        )
    }

    /// Records that were made, other than the one of the scene.
    func others(_ lane: RequestLane) -> [RequestStream.Record] {
        Self.records.map { books.stream.record($0) }.filter { $0.lane == lane && $0.number != record.number }
    }

    mutating func publish(at place: RequestPlace = MoveScene.origin) {
        books.noteRecord(number: record.number, partition: place.partition, offset: place.offset)
    }

    /// - Parameter met: in the log; nil: when it was created.
    mutating func move(
        to place: RequestPlace = MoveScene.copy,
        from origin: RequestPlace = MoveScene.origin,
        at created: UInt32 = 100,
        met: UInt32? = nil
    ) {
        let times = MovedRecords.Times(created: created, met: met ?? created)
        books.noteCopy(number: record.number, at: place, from: origin, times)
    }

    /// Enters an outcome for each token, or for the first few.
    ///
    /// - Parameter decided: by the worker; nil: when it was met.
    mutating func settle(
        _ place: RequestPlace = MoveScene.copy,
        from origin: RequestPlace? = MoveScene.origin,
        tokens: Int? = nil,
        at second: UInt32 = 100,
        decided: UInt32? = nil
    ) {
        for token in 0..<(tokens ?? record.count) {
            let outcome = PushOutcome.with {
                $0.requestID = "\(record.number)"
                $0.sourceTopic = "push.requests\(place.partition.lane.suffix)"
                $0.sourcePartition = place.partition.number
                $0.sourceOffset = place.offset
                $0.tokenIndex = UInt32(token)
                $0.kind = .confirmed
                $0.decidedAtMs = Int64(decided ?? second) * 1000
            }
            books.note(outcome, from: origin, at: second)
        }
    }

    /// Lets the gateway accept all of the record.
    mutating func accept() {
        for device in 0..<1000 as Range<UInt32>
        where books.stream.index(of: device, topic: record.topic, in: record) != nil {
            books.noteAccepted(number: record.number, device: device, topic: record.topic)
        }
    }
}
