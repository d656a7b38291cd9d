import PushSchemas
import PushTopics
import Testing
import TokenState

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import TokenRoles

/// The order in which batches are taken and ended.
@Suite struct BatchesInFlightTests {
    @Test("Two batches are in flight, and a third one is taken when the first has ended")
    func limit() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 0..<1]))
        #expect(batches.mayTake)
        batches.take(batch(2, [0: 1..<2]))
        #expect(!batches.mayTake && batches.numbers == [1, 2])
        batches.update(1) { $0.finishOne() }
        #expect(batches.takeFinished() == [0: 1])
        #expect(batches.mayTake && batches.numbers == [2])
    }

    @Test("A batch that is acknowledged before an older one ends after it")
    func order() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 0..<2]))
        batches.take(batch(2, [0: 2..<3, 1: 7..<8]))
        for _ in 0..<2 { batches.update(2) { $0.finishOne() } }
        #expect(batches.takeFinished() == nil && batches.partitions == [0, 1])
        batches.update(1) { $0.finishOne() }
        #expect(batches.takeFinished() == nil, "one of its two records")
        batches.update(1) { $0.finishOne() }
        #expect(batches.takeFinished() == [0: 2])
        #expect(batches.takeFinished() == [0: 3, 1: 8])
        #expect(batches.takeFinished() == nil && batches.isEmpty && batches.partitions.isEmpty)
    }

    @Test("A record that is in flight is known by its partition and offset")
    func holds() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 5..<8]))
        batches.take(batch(2, [1: 0..<2]))
        #expect(batches.holds(0, offset: 7) && batches.holds(1, offset: 1))
        #expect(!batches.holds(0, offset: 8) && !batches.holds(1, offset: 2) && !batches.holds(2, offset: 0))
        batches.leave([0])
        #expect(!batches.holds(0, offset: 7), "its next owner applies it, perhaps this member")
    }

    @Test("Behind a batch of which something has failed none is taken until it has ended")
    func failure() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 0..<1]))
        batches.update(1) { $0.noteFailure() }
        #expect(!batches.mayTake)
        batches.update(1) { $0.finishOne() }
        #expect(!batches.mayTake)
        #expect(batches.takeFinished() == [0: 1])
        #expect(batches.mayTake)
    }

    @Test("A change that takes others back waits for its batch and older ones, and nothing is taken behind it")
    func removals() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 0..<1]))
        batches.take(batch(2, [0: 1..<3], .forgetInvalid(at: 9), lastOnly: true))
        #expect(batches.takeRemovals().isEmpty)
        batches.update(2) { $0.finishOne() }
        #expect(batches.takeRemovals().isEmpty, "an older one is in flight")
        batches.update(1) { $0.finishOne() }
        #expect(batches.takeFinished() == [0: 1])
        #expect(!batches.mayTake)
        #expect(batches.takeRemovals().map(\.index) == [1])
        #expect(batches.takeRemovals().isEmpty && !batches.mayTake, "each once")
        batches.update(2) { $0.finishOne() }
        #expect(batches.takeFinished() == [0: 3])
        #expect(batches.mayTake)
    }

    @Test("A batch whose partitions were all given back is dropped, and the one behind it ends")
    func leave() {
        var batches = BatchesInFlight()
        batches.take(batch(1, [0: 0..<1]))
        batches.take(batch(2, [0: 1..<2, 1: 0..<1]))
        batches.update(2) {
            $0.finishOne()
            $0.finishOne()
        }
        batches.leave([0])
        #expect(!batches.contains(1) && batches.update(1) { $0.finishOne() } == nil)
        #expect(batches.takeFinished() == [1: 1], "nothing of what was given back")
    }

    @Test("Of a batch that is gone every change is foreign, of one in flight those of partitions given back")
    func foreign() throws {
        var batches = BatchesInFlight()
        var first = batch(1, [0: 0..<1, 1: 0..<1])
        let items = first.takeItems()
        batches.take(first)
        #expect(first.takeItems().isEmpty, "each is begun once")
        batches.leave([1])
        #expect(items.map { batches.isForeign($0) } == [false, true])
        for _ in 0..<2 { batches.update(1) { $0.finishOne() } }
        #expect(batches.takeFinished() == [0: 1])
        #expect(items.allSatisfy { batches.isForeign($0) })
    }

    /// A batch whose records are one change each.
    ///
    /// - Parameters:
    ///   - offsets: of its records, by partition.
    ///   - lastOnly: all but the last record register a token.
    private func batch(
        _ number: UInt32,
        _ offsets: [Int32: Range<Int64>],
        _ kind: TokenChange.Kind = .register(at: 1, TokenTexts()),
        lastOnly: Bool = false
    ) -> BatchInHand {
        let records = offsets.sorted { $0.key < $1.key }.flatMap { partition, offsets in
            offsets.map {
                KafkaRecord(topic: ApplierBench.source, partition: partition, offset: $0, key: nil, value: [])
            }
        }
        var batch = BatchInHand(number: number, records: KafkaBatch(records))
        for index in records.indices {
            let isLast = index == records.count - 1
            batch.takeRecord(
                index,
                .success([.of([UInt8(index)], isLast || !lastOnly ? kind : .register(at: 1, TokenTexts()))])
            )
        }
        return batch
    }
}
