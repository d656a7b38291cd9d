import LocalPipeline
import PushSchemas
import TestSupport
import Testing

@testable import belfry_chaos

/// A stream over two topics of made-up tokens.
func makeStream(seed: UInt64 = 1, usesLanes: Bool = false) -> RequestStream {
    var random = SeededGenerator(seed: 99)
    let tokens = (0..<2).map { _ in
        (0..<1000).map { _ in (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    }
    return RequestStream(
        seed: seed,
        topics: ["com.example.news", "com.example.sport"],
        tokens: tokens,
        usesLanes: usesLanes
    )
}

@Suite("The books of a chaos run")
struct ChaosBooksTests {
    private func outcome(
        _ number: UInt32,
        _ place: (partition: Int32, offset: Int64),
        in lane: RequestLane = .normal,
        token: Int,
        _ kind: PushOutcomeKind = .presumed
    ) -> PushOutcome {
        .with {
            $0.requestID = "\(number)"
            $0.sourceTopic = "push.requests\(lane.suffix)"
            $0.sourcePartition = place.partition
            $0.sourceOffset = place.offset
            $0.tokenIndex = UInt32(token)
            $0.kind = kind
        }
    }

    /// Enters every notification of a record.
    private func settle(
        _ record: RequestStream.Record,
        _ place: (partition: Int32, offset: Int64),
        _ kind: PushOutcomeKind = .presumed,
        in books: inout ChaosBooks
    ) {
        for token in 0..<record.count { books.note(outcome(record.number, place, token: token, kind), at: 100) }
    }

    /// Lets the gateway accept every notification of a record.
    private func accept(_ record: RequestStream.Record, in books: inout ChaosBooks) {
        for device in 0..<1000 as Range<UInt32>
        where books.stream.index(of: device, topic: record.topic, in: record) != nil {
            books.noteAccepted(number: record.number, device: device, topic: record.topic)
        }
    }

    @Test("The books balance when everything in the log has one outcome and what is claimed was accepted")
    func balance() {
        var books = ChaosBooks(stream: makeStream(), partitions: 2)
        let first = books.nextRecord()
        let second = books.nextRecord()
        // Outcomes may be read before the record itself.
        settle(first, (1, 0), .confirmed, in: &books)
        books.noteRecord(number: 1, partition: .init(.normal, 1), offset: 0)
        books.noteRecord(number: 2, partition: .init(.normal, 0), offset: 0)
        #expect(books.missing == second.count)
        settle(second, (0, 0), in: &books)
        accept(first, in: &books)
        accept(second, in: &books)
        #expect(books.published == first.count + second.count)
        #expect(books.handedOver == books.published)
        #expect(books.missing == 0)
        #expect(books.confirmedWrongly == 0 && books.presumedWrongly == 0 && books.acceptedUnclaimed == 0)
        #expect(books.strange == 0 && books.repeated == 0 && books.replays == 0 && books.disordered == 0)
        #expect(books.kinds == [.confirmed: first.count, .presumed: second.count])
    }

    @Test("An outcome that comes again counts once, and the first word stands")
    func repeated() {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        _ = books.nextRecord()
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 0)
        books.note(outcome(1, (0, 0), token: 0, .rejected), at: 100)
        books.note(outcome(1, (0, 0), token: 0, .presumed), at: 100)
        #expect(books.outcomes == 1)
        #expect(books.repeated == 1)
        #expect(books.kinds == [.rejected: 1])
    }

    @Test("A record that the producer brought twice is due two outcomes")
    func replay() {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        let record = books.nextRecord()
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 0)
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 1)
        settle(record, (0, 0), in: &books)
        #expect(books.replays == 1)
        #expect(books.missing == record.count)
        settle(record, (0, 1), in: &books)
        #expect(books.missing == 0)
        #expect(books.disordered == 0)
    }

    @Test("Claims without an acceptance are told by kind of claim, and so are acceptances without a claim")
    func wrongClaims() {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        let records = (0..<3).map { _ in books.nextRecord() }
        for (offset, record) in records.enumerated() {
            books.noteRecord(number: record.number, partition: .init(.normal, 0), offset: Int64(offset))
        }
        settle(records[0], (0, 0), .confirmed, in: &books)
        settle(records[1], (0, 1), .presumed, in: &books)
        settle(records[2], (0, 2), .unknown, in: &books)
        accept(records[2], in: &books)
        #expect(books.confirmedWrongly == records[0].count)
        #expect(books.presumedWrongly == records[1].count)
        #expect(books.acceptedUnclaimed == records[2].count)
    }

    @Test("An outcome or acceptance of nothing published is strange, and disturbs nothing")
    func strange() {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        let record = books.nextRecord()
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 0)
        books.note(outcome(1, (0, 0), token: record.count), at: 100)
        books.note(outcome(9, (0, 1), token: 0), at: 100)
        books.note(outcome(1, (7, 0), token: 0), at: 100)
        books.note(outcome(1, (0, -1), token: 0), at: 100)
        books.note(outcome(1, (0, 1 << 40), token: 0), at: 100)
        books.noteAccepted(number: 9, device: 0, topic: 0)
        books.noteAccepted(number: 0, device: 0, topic: 0)
        #expect(books.strange == 7)
        #expect(books.outcomes == 0)
        // Another record where one stands already.
        _ = books.nextRecord()
        books.note(outcome(2, (0, 0), token: 0), at: 100)
        #expect(books.strange == 8)
        #expect(books.examplesOfMissing(limit: 3).count == 1)
    }

    @Test("Looking back, every outcome is there, and every record that stands in the log once")
    func lookingBack() {
        var books = ChaosBooks(stream: makeStream(), partitions: 2)
        let records = (0..<3).map { _ in books.nextRecord() }
        books.noteRecord(number: 2, partition: .init(.normal, 0), offset: 0)
        books.noteRecord(number: 1, partition: .init(.normal, 1), offset: 0)
        books.noteRecord(number: 3, partition: .init(.normal, 1), offset: 1)
        books.noteRecord(number: 3, partition: .init(.normal, 1), offset: 2)
        books.note(outcome(1, (1, 0), token: 0, .rejected), at: 100)
        books.note(outcome(1, (1, 0), token: 0), at: 103)
        let expected = [(records[1], Int32(0)), (records[0], 1)].map { record, partition in
            RepeatAudit.Entry(
                number: record.number,
                topic: record.topic,
                partition: RequestPartition(.normal, partition),
                count: record.count
            )
        }
        #expect(books.log == expected)
        let met = (0..<books.outcomesMet).map { books.outcome(met: $0) }
        #expect(met.map(\.second) == [100, 103] && met.allSatisfy { $0.number == 1 && $0.token == 0 })
    }

    @Test("Over HTTP/2 an outcome that is presumed or unknown is a complaint, over the binary interface it is none")
    func unproven() {
        let kinds: [PushOutcomeKind: Int] = [.confirmed: 7, .presumed: 2, .rejected: 3, .unknown: 1]
        #expect(ChaosReport.unproven(kinds, over: .binary) == [])
        #expect(ChaosReport.unproven(kinds, over: .http2).count == 2)
        #expect(ChaosReport.unproven([.confirmed: 7, .rejected: 3], over: .http2) == [])
    }

    @Test("As many may be accepted late as were refused for good: over HTTP/2 what is tried again keeps its turn")
    func refusals() {
        let faults = ["error-response": 5, "request-error": 90]
        let rejected = ["8": 4, "400 BadDeviceToken": 10, "410 Unregistered": 3, "429 TooManyRequests": 20]
        func refusals(_ transport: PipelineTransport) -> Int {
            let more = rejected.merging(["503 ServiceUnavailable": 40, "413 PayloadTooLarge": 1]) { $1 }
            return ChaosReport.refusals(faults: faults, rejected: more, over: transport)
        }
        #expect(refusals(.binary) == 5)
        #expect(refusals(.http2) == 14)
    }

    @Test("Each lane has books of its own, and a record or outcome in another lane than its own is strange")
    func lanes() throws {
        let stream = makeStream(usesLanes: true)
        var books = ChaosBooks(stream: stream, partitions: 2)
        var first: [RequestLane: RequestStream.Record] = [:]
        for _ in 0..<200 {
            let record = books.nextRecord()
            if first[record.lane] == nil { first[record.lane] = record }
        }
        for lane in RequestLane.allCases {
            let record = try #require(first[lane])
            // The same place in each lane.
            books.noteRecord(number: record.number, partition: .init(lane, 1), offset: 0)
            #expect(books.publishedByLane[lane] == record.count && books.lost(in: lane) == record.count)
            for token in 0..<record.count {
                books.note(outcome(record.number, (1, 0), in: lane, token: token, .confirmed), at: 100)
            }
            #expect(books.lost(in: lane) == record.count, "confirmed and never accepted")
            accept(record, in: &books)
            #expect(books.lost(in: lane) == 0)
            let place = try #require(books.log.first { $0.number == record.number }?.partition)
            #expect(place == RequestPartition(lane, 1))
        }
        #expect(books.missing == 0 && books.confirmedWrongly == 0 && books.strange == 0)
        let urgent = try #require(first[.urgent])
        books.noteRecord(number: urgent.number, partition: .init(.bulk, 0), offset: 7)
        books.note(outcome(urgent.number, (1, 0), in: .normal, token: 0), at: 100)
        #expect(books.strange == 2)
    }

    @Test("Five of a hundred records are urgent and 35 in bulk; without lanes the same records are all normal")
    func shares() {
        let (mixed, plain) = (makeStream(usesLanes: true), makeStream())
        var counts: [RequestLane: Int] = [:]
        for number in 1...10_000 as ClosedRange<UInt32> {
            var record = mixed.record(number)
            counts[record.lane, default: 0] += 1
            record.lane = .normal
            #expect(plain.record(number) == record)
        }
        #expect((400...600).contains(counts[.urgent] ?? 0) && (3300...3700).contains(counts[.bulk] ?? 0))
    }

    @Test("Numbers that do not grow along a partition are noticed")
    func disordered() {
        var books = ChaosBooks(stream: makeStream(), partitions: 1)
        for _ in 0..<2 { _ = books.nextRecord() }
        books.noteRecord(number: 2, partition: .init(.normal, 0), offset: 0)
        books.noteRecord(number: 1, partition: .init(.normal, 0), offset: 1)
        #expect(books.disordered == 1)
    }
}
